"""A test that ends the runner with 0 before anything is checked, and leaves a thread and a child."""
import os
import threading
import time
import unittest


class Test(unittest.TestCase):
    def test_it(self):
        threading.Thread(target=time.sleep, args=(20,)).start()
        if os.fork() == 0:
            time.sleep(20)
        os._exit(0)


unittest.main()
