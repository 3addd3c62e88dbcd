/* Runs a saved executable without Python: docs/executables.md.
 *
 *     run_saved FILE.irx FOLDER [REPETITIONS]
 *
 * Arguments are read from FOLDER/NAME.bin, row-major elements without a header, and results are written to
 * FOLDER/result0.bin and so on. An argument without a file is all zeros. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "irc.h"

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *taken(size_t size) {
    void *made = calloc(1, size == 0 ? 1 : size);
    if (made == NULL) exit(2);
    return made;
}

static void print_type(const char *what, const irc_array *array) {
    printf("%s %s:", what, array->name);
    for (int i = 0; i < array->rank; i++) printf(" %lld", (long long)array->shape[i]);
    printf(", %zu bytes\n", irc_bytes(array));
}

static void read_array(const char *folder, const irc_array *array) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.bin", folder, array->name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) return;
    if (fread(array->data, 1, irc_bytes(array), file) != irc_bytes(array)) {
        fprintf(stderr, "%s has less than %zu bytes\n", path, irc_bytes(array));
        exit(2);
    }
    fclose(file);
}

static void write_array(const char *folder, size_t number, const irc_array *array) {
    char path[4096];
    snprintf(path, sizeof path, "%s/result%zu.bin", folder, number);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(array->data, 1, irc_bytes(array), file) != irc_bytes(array) || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
}

int main(int count, char **words) {
    if (count < 3) {
        fprintf(stderr, "run_saved FILE.irx FOLDER [REPETITIONS]\n");
        return 2;
    }
    irc_exe *exe;
    irc_error error;
    double begin = seconds();
    if (irc_load(words[1], 0, &exe, &error) != IRC_OK) {
        fprintf(stderr, "error: %s\n", error.message);
        return 1;
    }
    printf("%s for %s, loaded in %.3f s\n", irc_name(exe), irc_target(exe), seconds() - begin);
    size_t inputs = irc_argument_count(exe), outputs = irc_result_count(exe);
    irc_array *arguments = taken(inputs * sizeof *arguments), *results = taken(outputs * sizeof *results);
    for (size_t i = 0; i < inputs; i++) {
        arguments[i] = irc_argument(exe, i);
        arguments[i].data = taken(irc_bytes(arguments + i));
        read_array(words[2], arguments + i);
        print_type("argument", arguments + i);
    }
    for (size_t i = 0; i < outputs; i++) {
        results[i] = irc_result(exe, i);
        int donated = irc_donated(exe, i);
        results[i].data = donated >= 0 ? arguments[donated].data : taken(irc_bytes(results + i));
        print_type("result", results + i);
    }
    int repetitions = count > 3 ? atoi(words[3]) : 1;
    irc_status status = IRC_OK;
    begin = seconds();
    for (int i = 0; i < repetitions && status == IRC_OK; i++)
        status = irc_run_host(exe, arguments, inputs, results, outputs, &error);
    double end = seconds();
    if (status == IRC_OK)
        printf("%.6f s a run, copies of the arrays included\n", (end - begin) / repetitions);
    else
        fprintf(stderr, "error: %s\n", error.message);
    for (size_t i = 0; i < outputs; i++) {
        if (status == IRC_OK) write_array(words[2], i, results + i);
        if (irc_donated(exe, i) < 0) free(results[i].data);
    }
    for (size_t i = 0; i < inputs; i++) free(arguments[i].data);
    free(arguments);
    free(results);
    irc_free(exe);
    return status == IRC_OK ? 0 : 1;
}
