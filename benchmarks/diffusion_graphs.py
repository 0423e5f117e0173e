"""Write the graphs of the shipped pipelines, for the pictures that they make by default.

    python benchmarks/diffusion_graphs.py

Needs the extra `diffusion`. PyTorch takes some ten minutes; what lies in the user's cache is taken.
"""

from __future__ import annotations

import gzip

from perfc.frontend.diffusion import Role, read_pipeline, shipped
from perfc.frontend.diffusion.export import HERE, digest, inputs_of, kept, module_of


def main() -> int:
    HERE.mkdir(exist_ok=True)
    wanted = set()
    for name in shipped():
        pipeline = read_pipeline(name)
        latent = pipeline.latent(pipeline.picture)
        for role in (Role.DENOISER, Role.DECODER):
            part = pipeline.part(role)
            inputs = inputs_of(part, latent, pipeline.tokens)
            path = HERE / f"{digest(part, inputs)}.onnx.gz"
            wanted.add(path)
            if path.is_file():
                continue
            module_of(part, latent, pipeline.tokens)
            content = kept(part, inputs).read_bytes()
            path.write_bytes(gzip.compress(content, 9, mtime=0))
            print(f"{name} {part.name}: {path.stat().st_size:,} bytes")
    for path in set(HERE.glob("*.gz")) - wanted:
        path.unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
