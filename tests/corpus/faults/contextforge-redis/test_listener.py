"""The listener of the revision, over redis-py and a real server. It hears one message and is stopped."""
import asyncio
import importlib
import json
import os
import subprocess
import sys
import time
import types

import pytest
import redis
import redis.asyncio


def stub(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


stub("cpex")
stub("cpex.framework", ObservabilityProvider=object, TenantPluginManager=object)
stub("mcpgateway", __path__=["mcpgateway"])
stub("mcpgateway.config", settings=types.SimpleNamespace(jwt_secret_key=""))
stub("mcpgateway.plugins._state")
plugins = importlib.import_module("mcpgateway.plugins")


@pytest.fixture
def server(tmp_path):
    path = str(tmp_path / "redis")
    process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", str(tmp_path)],
                               stdout=subprocess.DEVNULL)
    while not os.path.exists(path):
        time.sleep(0.01)
    yield path
    process.kill()
    process.wait()


async def listen(client, path):
    async def provide():
        return client

    sys.modules["mcpgateway.plugins._redis"].set_shared_redis_provider(provide)
    task = asyncio.create_task(plugins._plugin_invalidation_listener())
    with redis.Redis(unix_socket_path=path) as other:
        for _ in range(200):
            other.publish(plugins._REDIS_INVALIDATION_CHANNEL, json.dumps({"type": "global_toggle", "enabled": True}))
            await asyncio.sleep(0.01)
            if plugins._PLUGINS_ENABLED or task.done():
                break
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_listener(server):
    client = redis.asyncio.Redis(unix_socket_path=server, max_connections=4)

    async def run(): # the pool is shared with others, and stays open
        await listen(client, server)
        await client.aclose(close_connection_pool=False)

    asyncio.run(run())
    assert plugins._PLUGINS_ENABLED
