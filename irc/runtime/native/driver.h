/* The CUDA driver, which is looked for when a file for it is loaded; names and numbers are cuda.h's (CUDA 12 and later). */
#ifndef IRC_DRIVER_H
#define IRC_DRIVER_H

#include "internal.h"

typedef struct {
    uint32_t id, padding;
    uint32_t value[16];
} launch_attribute;

typedef struct {
    uint32_t grid[3], block[3], shared;
    void *stream;
    launch_attribute *attributes;
    uint32_t attribute_count;
} launch_config;

typedef uint64_t address_t; /* CUdeviceptr */

/* Of each function: its name here, its symbol, its arguments. Handles are pointers, numbers of enums ints. */
#define DRIVER_FUNCTIONS(X)                                                                                            \
    X(init, "cuInit", (uint32_t))                                                                                      \
    X(count, "cuDeviceGetCount", (int *))                                                                              \
    X(device, "cuDeviceGet", (int *, int))                                                                             \
    X(attribute, "cuDeviceGetAttribute", (int *, int, int))                                                            \
    X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                                                              \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int))                                                                  \
    X(push, "cuCtxPushCurrent_v2", (void *))                                                                           \
    X(pop, "cuCtxPopCurrent_v2", (void **))                                                                            \
    X(load, "cuModuleLoadData", (void **, const void *))                                                               \
    X(unload, "cuModuleUnload", (void *))                                                                              \
    X(function, "cuModuleGetFunction", (void **, void *, const char *))                                                \
    X(set_attribute, "cuFuncSetAttribute", (void *, int, int))                                                         \
    X(allocate, "cuMemAlloc_v2", (address_t *, size_t))                                                                \
    X(deallocate, "cuMemFree_v2", (address_t))                                                                         \
    X(copy, "cuMemcpyAsync", (address_t, address_t, size_t, void *))                                                   \
    X(fill, "cuMemsetD8Async", (address_t, unsigned char, size_t, void *))                                             \
    X(make_stream, "cuStreamCreate", (void **, uint32_t))                                                              \
    X(destroy_stream, "cuStreamDestroy_v2", (void *))                                                                  \
    X(synchronize, "cuStreamSynchronize", (void *))                                                                    \
    X(wait, "cuStreamWaitEvent", (void *, void *, uint32_t))                                                           \
    X(is_capturing, "cuStreamIsCapturing", (void *, int *))                                                            \
    X(make_event, "cuEventCreate", (void **, uint32_t))                                                                \
    X(destroy_event, "cuEventDestroy_v2", (void *))                                                                    \
    X(record, "cuEventRecord", (void *, void *))                                                                       \
    X(launch, "cuLaunchKernelEx", (const launch_config *, void *, void **, void **))                                   \
    X(encode_tiled, "cuTensorMapEncodeTiled",                                                                          \
      (void *, int, uint32_t, address_t, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, int,  \
       int, int, int))                                                                                                 \
    X(encode_im2col, "cuTensorMapEncodeIm2col",                                                                        \
      (void *, int, uint32_t, address_t, const uint64_t *, const uint64_t *, const int *, const int *, uint32_t,       \
       uint32_t, const uint32_t *, int, int, int, int))                                                                \
    X(error_name, "cuGetErrorName", (int, const char **))                                                              \
    X(error_text, "cuGetErrorString", (int, const char **))

typedef struct {
#define DECLARED(name, symbol, arguments) int(*name) arguments;
    DRIVER_FUNCTIONS(DECLARED)
#undef DECLARED
} driver;

/* The driver, started. A failure where there is none. */
void irc_open_driver(context *c, driver *found);

/* A failure unless the status is 0. `doing` says what was asked for. */
void irc_check(context *c, const driver *of, int status, const char *doing, const char *of_what);

#endif
