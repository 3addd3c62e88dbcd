/* What of a CPU machine code may use (LLVM's names) and this one lacks. Features of which LLVM makes use only where a
 * program asks for them by name, as kernels of irc never do, are not looked at. */
#include "internal.h"

#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

/* Which registers the system saves: XMM and YMM, and with them the masks and ZMM. */
enum { SAVED_NONE = 0, SAVED_AVX = 0x6, SAVED_AVX512 = 0xe6 };

static const struct {
    const char *name;
    uint32_t leaf, part;
    int where, bit, saved;
} FEATURES[] = {
    {"sse3", 1, 0, ECX, 0, SAVED_NONE},
    {"pclmul", 1, 0, ECX, 1, SAVED_NONE},
    {"ssse3", 1, 0, ECX, 9, SAVED_NONE},
    {"fma", 1, 0, ECX, 12, SAVED_AVX},
    {"cx16", 1, 0, ECX, 13, SAVED_NONE},
    {"sse4.1", 1, 0, ECX, 19, SAVED_NONE},
    {"sse4.2", 1, 0, ECX, 20, SAVED_NONE},
    {"crc32", 1, 0, ECX, 20, SAVED_NONE},
    {"movbe", 1, 0, ECX, 22, SAVED_NONE},
    {"popcnt", 1, 0, ECX, 23, SAVED_NONE},
    {"avx", 1, 0, ECX, 28, SAVED_AVX},
    {"f16c", 1, 0, ECX, 29, SAVED_AVX},
    {"bmi", 7, 0, EBX, 3, SAVED_NONE},
    {"avx2", 7, 0, EBX, 5, SAVED_AVX},
    {"bmi2", 7, 0, EBX, 8, SAVED_NONE},
    {"avx512f", 7, 0, EBX, 16, SAVED_AVX512},
    {"avx512dq", 7, 0, EBX, 17, SAVED_AVX512},
    {"adx", 7, 0, EBX, 19, SAVED_NONE},
    {"avx512ifma", 7, 0, EBX, 21, SAVED_AVX512},
    {"avx512cd", 7, 0, EBX, 28, SAVED_AVX512},
    {"avx512bw", 7, 0, EBX, 30, SAVED_AVX512},
    {"avx512vl", 7, 0, EBX, 31, SAVED_AVX512},
    {"avx512vbmi", 7, 0, ECX, 1, SAVED_AVX512},
    {"avx512vbmi2", 7, 0, ECX, 6, SAVED_AVX512},
    {"gfni", 7, 0, ECX, 8, SAVED_NONE},
    {"vaes", 7, 0, ECX, 9, SAVED_AVX},
    {"vpclmulqdq", 7, 0, ECX, 10, SAVED_AVX},
    {"avx512vnni", 7, 0, ECX, 11, SAVED_AVX512},
    {"avx512bitalg", 7, 0, ECX, 12, SAVED_AVX512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, SAVED_AVX512},
    {"avx512vp2intersect", 7, 0, EDX, 8, SAVED_AVX512},
    {"avx512fp16", 7, 0, EDX, 23, SAVED_AVX512},
    {"avxvnni", 7, 1, EAX, 4, SAVED_AVX},
    {"avx512bf16", 7, 1, EAX, 5, SAVED_AVX512},
    {"avxifma", 7, 1, EAX, 23, SAVED_AVX},
    {"avxvnniint8", 7, 1, EDX, 4, SAVED_AVX},
    {"avxneconvert", 7, 1, EDX, 5, SAVED_AVX},
    {"avxvnniint16", 7, 1, EDX, 10, SAVED_AVX},
    {"avx10.1", 7, 1, EDX, 19, SAVED_AVX512},
    {"lzcnt", 0x80000001, 0, ECX, 5, SAVED_NONE},
    {"sse4a", 0x80000001, 0, ECX, 6, SAVED_NONE},
    {"xop", 0x80000001, 0, ECX, 11, SAVED_AVX},
    {"fma4", 0x80000001, 0, ECX, 16, SAVED_AVX},
    {"tbm", 0x80000001, 0, ECX, 21, SAVED_NONE},
};

static int saved_by_system(void) {
    uint32_t a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return SAVED_NONE;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (int)(low & SAVED_AVX512);
}

static bool has(size_t feature, int saved) {
    uint32_t found[4];
    if (!__get_cpuid_count(FEATURES[feature].leaf, FEATURES[feature].part, found, found + 1, found + 2, found + 3))
        return false;
    bool is_saved = (saved & FEATURES[feature].saved) == FEATURES[feature].saved;
    return is_saved && (found[FEATURES[feature].where] >> FEATURES[feature].bit & 1);
}

/* `features` are LLVM's, `+avx2,-sse4a,...`. */
const char *irc_lacking(const char *features) {
    int saved = saved_by_system();
    for (const char *at = features; *at != '\0';) {
        size_t size = strcspn(at, ",");
        for (size_t i = 0; *at == '+' && i < sizeof FEATURES / sizeof *FEATURES; i++) {
            const char *name = FEATURES[i].name;
            if (strlen(name) == size - 1 && memcmp(name, at + 1, size - 1) == 0 && !has(i, saved)) return name;
        }
        at += size + (at[size] == ',');
    }
    return NULL;
}

#else

/* `irc_link` refuses machine code of x86-64. */
const char *irc_lacking(const char *features) {
    (void)features;
    return NULL;
}

#endif
