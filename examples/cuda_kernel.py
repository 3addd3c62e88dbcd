"""A kernel given as CUDA C++, an op of irc's graphs: the histogram of an image in shared memory.

python examples/cuda_kernel.py        by the kernel on a GPU, by its reference elsewhere
"""

from __future__ import annotations

from typing import Any

import numpy as np

import irc_frontend as ir

COUNTS = r"""
extern "C" __global__ void histogram(const unsigned char* image, int* counts) {
  __shared__ int own[BINS];
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) own[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)
    atomicAdd(&own[image[i] * BINS / 256], 1);
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(&counts[bin], own[bin]);
}
"""


def counted(image: ir.Tensor, bins: int) -> ir.Tensor:
    """What the kernel computes, by irc's own ops."""
    places = image.astype("i32") * bins // 256
    return (places[:, None] == ir.arange(bins)).astype("i32").sum(0)


histogram = ir.cuda_kernel(
    COUNTS,
    name="histogram",
    operands="image: u8[N], BINS: i32",
    results="counts: i32[BINS]",
    zeroed=["counts"],
    grid=lambda N: min(264, (N + 1023) // 1024),
    block=256,
    reference=counted,
)


@ir.jit
def equalized(image: Any) -> Any:
    """An image whose brightness is spread evenly: what stands around the kernel is one launch before and one behind."""
    counts = histogram(image.reshape(-1), 64)
    share = ir.cumsum(counts, 0).astype("f32") / image.size
    return share[image.astype("i32") * 64 // 256]


def main() -> np.ndarray[Any, Any]:
    dark = (np.random.default_rng(0).beta(2, 6, (512, 512)) * 256).astype(np.uint8)
    found = equalized(dark)
    print(f"quarters of the brightness: {np.quantile(dark / 256, [0.25, 0.5, 0.75]).round(2)} before", end=", ")
    print(f"{np.quantile(found, [0.25, 0.5, 0.75]).round(2)} behind")
    return found


if __name__ == "__main__":
    main()
