/* libcuda.so.1 without a GPU: memory is the host's, and what is called is written to the file FAKE_CUDA_LOG, a line each.
 * Addresses are written as the number of the piece of memory and an offset. A launch writes its parameters, whose sizes
 * in bytes FAKE_CUDA_SIZES has (`kernel=8,128 other=8@0,8@64`, the latter at bytes of the first parameter, a struct);
 * what a tensor map was made with stands in its bytes.
 * FAKE_CUDA_FAILS names a function that fails. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

static struct {
    char *begin;
    size_t size;
} pieces[MOST];
static char names[MOST][64];
static int piece_count, handle_count, kernel_count, pushed;

static int noted(const char *function, const char *format, ...) {
    FILE *log = fopen(getenv("FAKE_CUDA_LOG"), "a");
    va_list rest;
    va_start(rest, format);
    fprintf(log, "%s", function);
    vfprintf(log, format, rest);
    va_end(rest);
    fprintf(log, "\n");
    fclose(log);
    const char *failing = getenv("FAKE_CUDA_FAILS");
    return failing != NULL && strcmp(failing, function) == 0 ? 719 : 0;
}

typedef struct {
    char text[64];
} place;

static place place_of(uint64_t address) {
    place found;
    for (int i = 0; i < piece_count; i++) {
        uint64_t begin = (uint64_t)(uintptr_t)pieces[i].begin;
        if (address >= begin && address < begin + pieces[i].size) {
            snprintf(found.text, sizeof found.text, "%d+%llu", i, (unsigned long long)(address - begin));
            return found;
        }
    }
    snprintf(found.text, sizeof found.text, "host");
    return found;
}

static void *handle(void) { return (void *)(intptr_t)(100 + handle_count++); }
static int number(const void *made) { return (int)(intptr_t)made; }

int cuInit(uint32_t flags) { return noted("init", " %u", flags); }
int cuDeviceGetCount(int *count) { return *count = getenv("FAKE_CUDA_NONE") == NULL, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = 7 + ordinal, 0; }
int cuDeviceGetAttribute(int *value, int which, int device) { return *value = which == 75 ? 9 : 0, device != 7; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &pushed, noted("retain", " %d", device); }
int cuDevicePrimaryCtxRelease_v2(int device) { return noted("release", " %d left %d", device, pushed); }
int cuCtxPushCurrent_v2(void *context) { return pushed++, context != &pushed; }
int cuCtxPopCurrent_v2(void **context) { return *context = &pushed, pushed-- <= 0; }
int cuModuleLoadData(void **module, const void *image) {
    *module = names[kernel_count++];
    return noted("load", " %.4s", (const char *)image + 4);
}
int cuModuleUnload(void *module) { return noted("unload", " %s", (char *)module); }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    snprintf(module, 64, "%s", name);
    return *function = module, noted("function", " %s", name);
}
int cuFuncSetAttribute(void *function, int which, int value) {
    return noted("attribute", " %s %d %d", (char *)function, which, value);
}
int cuMemAlloc_v2(uint64_t *address, size_t size) {
    pieces[piece_count].begin = aligned_alloc(256, (size + 255) / 256 * 256);
    pieces[piece_count].size = size;
    *address = (uint64_t)(uintptr_t)pieces[piece_count].begin;
    return noted("allocate", " %d %zu", piece_count++, size);
}
int cuMemFree_v2(uint64_t address) {
    place found = place_of(address);
    free((void *)(uintptr_t)address);
    pieces[atoi(found.text)].size = 0;
    return noted("free", " %s", found.text);
}
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream) {
    place source = place_of(from);
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
    int is_host = strcmp(source.text, "host") == 0;
    return noted("copy", " %s %s%.*s %zu on %d", place_of(to).text, source.text, is_host ? 4 : 0,
                 (char *)(uintptr_t)from, size, number(stream));
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream) {
    memset((void *)(uintptr_t)to, value, size);
    return noted("fill", " %s %d %zu on %d", place_of(to).text, value, size, number(stream));
}
int cuStreamCreate(void **stream, uint32_t flags) { return *stream = handle(), noted("stream", " %d %u", number(*stream), flags); }
int cuStreamDestroy_v2(void *stream) { return noted("destroy", " %d", number(stream)); }
int cuStreamSynchronize(void *stream) { return noted("synchronize", " %d", number(stream)); }
int cuStreamWaitEvent(void *stream, void *event, uint32_t flags) {
    return noted("wait", " %d for %d %u", number(stream), number(event), flags);
}
int cuStreamIsCapturing(void *stream, int *found) { return *found = number(stream) == 13, 0; }
int cuEventCreate(void **event, uint32_t flags) { return *event = handle(), noted("event", " %d %u", number(*event), flags); }
int cuEventDestroy_v2(void *event) { return noted("destroy", " %d", number(event)); }
int cuEventRecord(void *event, void *stream) { return noted("record", " %d on %d", number(event), number(stream)); }

static int encoded(uint64_t *map, int type, uint32_t rank, uint64_t address, const uint64_t *extents,
                   const uint64_t *strides, const char *box, const uint32_t *steps, int swizzle) {
    char text[512];
    size_t at = (size_t)snprintf(text, sizeof text, "map %d %s", type, place_of(address).text);
    for (uint32_t i = 0; i < rank; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %llu/%u", (unsigned long long)extents[i], steps[i]);
    for (uint32_t i = 0; i + 1 < rank; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " *%llu", (unsigned long long)strides[i]);
    snprintf(text + at, sizeof text - at, " box %s swizzle %d", box, swizzle);
    snprintf((char *)map, 128, "%s", text);
    return noted("encode", " at %d", (int)((uintptr_t)map % 64));
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, uint64_t address, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                           int swizzle, int promotion, int beyond) {
    char text[128] = "";
    for (uint32_t i = 0; i < rank; i++) sprintf(text + strlen(text), i == 0 ? "%u" : ",%u", box[i]);
    if (interleave != 0 || promotion != 2 || beyond != 0) return 1;
    return encoded(map, type, rank, address, extents, strides, text, steps, swizzle);
}

int cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, uint64_t address, const uint64_t *extents,
                            const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                            uint32_t pixels, const uint32_t *steps, int interleave, int swizzle, int promotion,
                            int beyond) {
    char text[128];
    snprintf(text, sizeof text, "%d..%d,%d..%d,%u,%u", lower[0], upper[0], lower[1], upper[1], channels, pixels);
    if (interleave != 0 || promotion != 2 || beyond != 0) return 1;
    return encoded(map, type, rank, address, extents, strides, text, steps, swizzle);
}

typedef struct {
    uint32_t grid[3], block[3], shared;
    void *stream;
    uint32_t *attributes;
    uint32_t count;
} config;

int cuLaunchKernelEx(const config *how, void *function, void **parameters, void **extra) {
    char text[4096], key[80];
    size_t at = 0;
    text[0] = 0;
    snprintf(key, sizeof key, "%s=", (char *)function);
    const char *sizes = strstr(getenv("FAKE_CUDA_SIZES"), key) + strlen(key);
    for (int i = 0; *sizes != 0 && *sizes != ' '; i++) {
        long size = strtol(sizes, (char **)&sizes, 10);
        const char *from = *sizes == '@' ? (char *)parameters[0] + strtol(sizes + 1, (char **)&sizes, 10) : parameters[i];
        sizes += *sizes == ',';
        uint64_t value = 0;
        if (size <= 8) memcpy(&value, from, (size_t)size);
        if (size == 8)
            at += (size_t)snprintf(text + at, sizeof text - at, " %s", place_of(value).text);
        else if (size == 4)
            at += (size_t)snprintf(text + at, sizeof text - at, " %d", (int)value);
        else
            at += (size_t)snprintf(text + at, sizeof text - at, " {%.120s}", from);
    }
    for (uint32_t i = 0; i < how->count; i++) {
        const uint32_t *one = how->attributes + 18 * i;
        at += (size_t)snprintf(text + at, sizeof text - at, one[0] == 4 ? " cluster %u,%u,%u" : " overlaps", one[2],
                               one[3], one[4]);
    }
    if (extra != NULL || how->block[1] != 1 || how->block[2] != 1) return 1;
    return noted("launch", " %s %u,%u,%u block %u shared %u on %d:%s", (char *)function, how->grid[0], how->grid[1],
                 how->grid[2], how->block[0], how->shared, number(how->stream), text);
}

int cuGetErrorName(int status, const char **name) { return *name = status == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "?", 0; }
int cuGetErrorString(int status, const char **text) { return (void)status, *text = "as the test wants it", 0; }
