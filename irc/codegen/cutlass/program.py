"""The parts of a CUTLASS file that are the same in each: headers, and arrays on both sides."""

from __future__ import annotations

NO_DRIVER = """\
// What is added to is set to 0 here: CUTLASS does so by the driver's library, which is not linked otherwise.
#define CUTLASS_SKIP_REDUCTION_INIT
"""

HEADERS = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/epilogue/fusion/sm90_visitor_compute_tma_warpspecialized.hpp"
#include "cutlass/epilogue/fusion/sm90_visitor_load_tma_warpspecialized.hpp"
#include "cutlass/epilogue/fusion/sm90_visitor_store_tma_warpspecialized.hpp"
#include "cutlass/epilogue/fusion/sm90_visitor_tma_warpspecialized.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"
"""

ARRAYS = """\
inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\\n", cudaGetErrorString(status));
  std::exit(2);
}

inline void check(cutlass::Status status) {
  if (status == cutlass::Status::kSuccess) return;
  std::fprintf(stderr, "CUTLASS: %s\\n", cutlass::cutlassGetStatusString(status));
  std::exit(2);
}

/// An array on the host and on the device. Drawn elements are multiples of 1/4 in [-1, 1], integers in [-4, 4]: every
/// element type holds them, so that products are exact.
template <class T>
struct Array {
  std::vector<T> host;
  T* device = nullptr;

  explicit Array(int64_t size) : host(size) { check(cudaMalloc(&device, size * sizeof(T))); }
  ~Array() { cudaFree(device); }
  Array(Array const&) = delete;
  Array& operator=(Array const&) = delete;

  void draw(unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> quarters(-4, 4);
    bool const whole = std::is_integral<T>::value;
    for (T& element : host) element = static_cast<T>(quarters(generator) * (whole ? 1.0f : 0.25f));
    check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }

  double at(int64_t index) const { return static_cast<double>(static_cast<float>(host[index])); }

  void fetch() { check(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost)); }
};

inline bool differ(
    char const* name, int64_t l, int64_t m, int64_t n, double expected, double found, double tolerance) {
  bool const alike = expected == found || (std::isnan(expected) && std::isnan(found)) ||
      (std::isfinite(expected) && std::abs(expected - found) <= tolerance * std::max(1.0, std::abs(expected)));
  if (!alike) std::printf("%s[%d, %d, %d]: %g, expected %g\\n", name, int(l), int(m), int(n), found, expected);
  return !alike;
}
"""
