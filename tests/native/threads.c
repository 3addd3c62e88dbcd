/* Several threads run one executable, each with an array of its own, whose results are compared with the first run's. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "irc.h"

enum { THREADS = 4, RUNS = 25 };

static irc_exe *exe;
static irc_array arguments[8];
static size_t argument_count;
static void *expected;

static void *runs(void *unused) {
    (void)unused;
    irc_array result = irc_result(exe, 0);
    result.data = malloc(irc_bytes(&result));
    int failures = 0;
    for (int i = 0; i < RUNS; i++) {
        memset(result.data, 0, irc_bytes(&result));
        failures += irc_run(exe, arguments, argument_count, &result, 1, NULL, NULL) != IRC_OK;
        failures += memcmp(result.data, expected, irc_bytes(&result)) != 0;
    }
    free(result.data);
    return (void *)(intptr_t)failures;
}

int main(int count, char **words) {
    pthread_t threads[THREADS];
    if (count != 2 || irc_load(words[1], 0, &exe, NULL) != IRC_OK) return 1;
    argument_count = irc_argument_count(exe);
    for (size_t i = 0; i < argument_count; i++) {
        arguments[i] = irc_argument(exe, i);
        float *data = arguments[i].data = malloc(irc_bytes(arguments + i));
        for (size_t n = 0; n < irc_bytes(arguments + i) / sizeof *data; n++) data[n] = (float)(n % 7) - 3.0f;
    }
    irc_array first = irc_result(exe, 0);
    expected = first.data = malloc(irc_bytes(&first));
    intptr_t failures = irc_run(exe, arguments, argument_count, &first, 1, NULL, NULL);
    for (int i = 0; i < THREADS; i++) failures += pthread_create(threads + i, NULL, runs, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *found;
        pthread_join(threads[i], &found);
        failures += (intptr_t)found;
    }
    for (size_t i = 0; i < argument_count; i++) free(arguments[i].data);
    free(expected);
    irc_free(exe);
    return failures == 0 ? 0 : 1;
}
