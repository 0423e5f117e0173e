"""The page of perfc for browsers: operations, static build with Pyodide, local server."""
