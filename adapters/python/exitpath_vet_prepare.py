"""What is done once, before any test: our modules and the target's files compiled, and both tried.

Run with the archive of the adapter on sys.path and argv: archive, directory. The directory has
config.json, gets *.py, and the last line of our output is an object.
"""
import importlib
import json
import marshal
import os
import platform
import py_compile
import sys
import zipfile


def unpack(archive, folder):
    with zipfile.ZipFile(archive) as z:
        for name in z.namelist():
            if name.startswith("exitpath_vet") or name == "exitpath_branches.py":
                path = z.extract(name, folder)
                py_compile.compile(path, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def compile_target(target, config):
    with open(config["code"], "wb") as file:
        marshal.dump(target.compile_all(config["files"]), file)


def load(target, config):
    """Each module must come from its file: else tests would see other code."""
    config["paths"] = list(dict.fromkeys([*(target.root_of(path) for path in config["files"]), *config["paths"]]))
    config["modules"] = list(dict.fromkeys(target.module_of(path) for path in config["files"]))
    sys.path[1:1] = config["paths"]
    for path, name in zip(config["files"], config["modules"]):
        module = importlib.import_module(name)
        if os.path.realpath(module.__file__ or "") != os.path.realpath(path):
            raise ImportError(f"{name} is {module.__file__}, not {path}")


def name_modules(before, folder):
    """What an interpreter that serves all tests loads ahead: our modules, and what the target imports of others."""
    ours = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py")
                  and name not in ("exitpath_vet.py", "exitpath_vet_prepare.py", "exitpath_vet_pytest.py"))
    others = []
    if len(os.listdir("/proc/self/task")) == 1:
        for name, module in list(sys.modules.items()):
            origin = getattr(getattr(module, "__spec__", None), "origin", None) or ""
            if name not in before and ("/site-packages/" in origin or "/dist-packages/" in origin or origin.startswith(LIBRARY)):
                others.append(name)
    with open(f"{folder}/warm", "w", encoding="utf-8") as file:
        file.write("\n".join([folder, *ours, *others]))
    with open(f"{folder}/warm.pytest", "w", encoding="utf-8") as file:
        file.write("\n".join(["*", folder, *ours, "exitpath_vet_pytest", *others]))


LIBRARY = os.path.dirname(os.__file__)


def main():
    archive, folder = sys.argv[1:]
    sys.path.remove(archive)
    unpack(archive, folder)
    sys.path.insert(0, folder)
    target = importlib.import_module("exitpath_vet_target")
    with open(f"{folder}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    said = {"python": platform.python_version()}
    before = set(sys.modules)
    try:
        compile_target(target, config)
        load(target, config)
        name_modules(before, folder)
    except BaseException as error:
        said["error"] = f"{type(error).__name__}: {error}"
    try:
        importlib.import_module("pytest")
        said["pytest"] = True
    except ImportError:
        said["pytest"] = False
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    print("\n" + json.dumps(said))


main()
