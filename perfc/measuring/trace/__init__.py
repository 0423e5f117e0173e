"""Reports of traces and profiles without their model: kernels, gaps, floors, differences."""
