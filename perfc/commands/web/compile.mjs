// Compiles folders of Python with the Python of Pyodide: node compile.mjs PYODIDE CODE NUMPY STDLIB
// CODE and NUMPY retain the first line of each file next to its bytecode, which `perfc --help` reads,
// and whole operators, which are searched for their names; STDLIB retains only bytecode.

import { pathToFileURL } from "node:url";
import { join } from "node:path";

// else Node prints the whole minified script
process.on("uncaughtException", (error) => {
  console.error(String(error.message || error).trim());
  process.exit(1);
});
const [, , core, ...folders] = process.argv;
const { loadPyodide } = await import(pathToFileURL(join(core, "pyodide.mjs")).href);
// without columns of tracebacks bytecode is a fifth smaller
const python = await loadPyodide({ indexURL: core + "/", env: { HOME: "/home", PYTHONNODEBUGRANGES: "1" } });
for (const [i, root] of folders.entries()) {
  python.FS.mkdirTree(`/in${i}`);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, `/in${i}`);
}
await python.runPythonAsync(`
import ast, os
from importlib._bootstrap_external import _code_to_hash_pyc, cache_from_source
from importlib.util import source_hash

SITE = "/lib/python3.12/site-packages"
LIBRARY = "/lib/python312.zip"


def without_docs(source, where):
    # not of classes: perfc and numpy compute with those
    tree = ast.parse(source, where)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            if ast.get_docstring(node, clean=False) is not None:
                node.body[0].value.value = ""
    return tree


def compile_file(path, where, has_docs):
    with open(path, "rb") as stream:
        source = stream.read()
    code = compile(source if has_docs else without_docs(source, where), where, "exec", dont_inherit=True)
    return source, _code_to_hash_pyc(code, source_hash(source), checked=False)


def compile_all(folder, where, is_library=False, has_docs=False):
    for at, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(".py"):
                continue
            path = os.path.join(at, name)
            source, made = compile_file(path, where + path.removeprefix(folder), has_docs)
            if is_library:
                os.remove(path)
                target = path + "c"
            else:
                target = cache_from_source(path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if "/perfc/ir/ops/" not in path:
                    with open(path, "wb") as stream:
                        stream.write(source.partition(b"\\n")[0] + b"\\n")
            with open(target, "wb") as stream:
                stream.write(made)


compile_all("/in0", SITE)
compile_all("/in1", SITE, has_docs=True)
compile_all("/in2", LIBRARY, is_library=True)
`);
