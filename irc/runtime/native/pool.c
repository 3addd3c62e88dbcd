/* A pool of threads, as irc/runtime/threads.py has it: the machine code of irc/codegen/cpu/threads.py shares a kernel's
 * tiles among threads that look for work for a while, and sleep here then. */
#include "internal.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

/* Where the lines of the state begin: irc/support/pool_state.py. */
enum { LINE = 64, WORK = 3 * LINE, WORKERS = 4 * LINE };

enum { RANGES = 16, MOST = 64 };

typedef struct {
    pool *of;
    int64_t number;
    pthread_t thread;
    sem_t wake;
} worker;

struct pool {
    uint8_t *state;
    int64_t (*begin)(void *state);
    void (*finish)(void *state, void *own);
    void (*serve)(void *state, int64_t worker);
    pthread_mutex_t busy;
    worker *workers;
    int wanted, started; /* workers; they start with the first kernel that is shared */
    bool is_ending;
};

static int thread_count(void) {
    const char *given = getenv("IRC_THREADS");
    long count = given == NULL ? 0 : strtol(given, NULL, 10);
    cpu_set_t set;
    if (count < 1) count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < MOST ? (int)count : MOST;
}

static int64_t *word(pool *of, size_t offset) { return (int64_t *)(of->state + offset); }

pool *irc_make_pool(context *c, const code *of, size_t own_size) {
    pool *made = irc_take(c, 1, sizeof *made);
    *(void **)&made->begin = irc_symbol(c, of, "irc_pool_begin");
    *(void **)&made->finish = irc_symbol(c, of, "irc_pool_finish");
    *(void **)&made->serve = irc_symbol(c, of, "irc_pool_serve");
    made->wanted = thread_count() - 1;
    made->workers = irc_take(c, (size_t)made->wanted, sizeof *made->workers);
    made->state = irc_take(c, 1, WORKERS + LINE * (size_t)made->wanted);
    for (int i = 0; i < made->wanted; i++) {
        made->workers[i].of = made;
        made->workers[i].number = i;
        word(made, WORKERS + LINE * (size_t)i)[1] = (int64_t)(intptr_t)irc_take(c, 1, own_size);
    }
    pthread_mutex_init(&made->busy, NULL);
    return made;
}

static void *work(void *argument) {
    worker *self = argument;
    for (;;) {
        self->of->serve(self->of->state, self->number);
        while (sem_wait(&self->wake) != 0) continue;
        if (self->of->is_ending) return NULL;
    }
}

/* As many workers as the system gives. */
static void start(pool *of) {
    while (of->started < of->wanted) {
        worker *next = of->workers + of->started;
        sem_init(&next->wake, 0, 0);
        if (pthread_create(&next->thread, NULL, work, next) == 0) {
            of->started++;
        } else {
            sem_destroy(&next->wake);
            of->wanted = of->started;
        }
    }
    word(of, WORK)[4] = of->started;
}

void irc_pool_run(pool *of, kernel_code kernel, void **pointers, int64_t tiles, void *own) {
    if (of->wanted == 0 || tiles == 1 || pthread_mutex_trylock(&of->busy) != 0) {
        kernel(pointers, 0, tiles, own);
        return;
    }
    if (of->started < of->wanted) start(of);
    int64_t ranges = RANGES * (int64_t)(of->started + 1), *shared = word(of, WORK);
    shared[0] = tiles;
    shared[1] = (tiles + ranges - 1) / ranges;
    shared[2] = (int64_t)(intptr_t)kernel;
    shared[3] = (int64_t)(intptr_t)pointers;
    int64_t sleeping = of->begin(of->state);
    for (int i = 0; i < of->started; i++)
        if (sleeping >> i & 1) sem_post(&of->workers[i].wake);
    of->finish(of->state, own);
    pthread_mutex_unlock(&of->busy);
}

void irc_free_pool(pool *of) {
    if (of == NULL) return;
    of->is_ending = true;
    for (int i = 0; i < of->started; i++) sem_post(&of->workers[i].wake);
    for (int i = 0; i < of->started; i++) pthread_join(of->workers[i].thread, NULL);
    for (int i = 0; i < of->started; i++) sem_destroy(&of->workers[i].wake);
    pthread_mutex_destroy(&of->busy);
}
