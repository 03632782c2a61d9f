/* Prints how many nanoseconds one atomic addition takes: by one thread alone, and by two threads
 * that add to the same number. Usage: contended */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { ADDITIONS = 20000000 };

static long number __attribute__((aligned(128)));

static void *add(void *unused) {
    (void)unused;
    for (int i = 0; i < ADDITIONS; i++)
        __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED);
    return NULL;
}

static double nanoseconds(int threads) {
    struct timespec began, ended;
    pthread_t others[2];
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&others[i], NULL, add, NULL) != 0)
            return -1;
    for (int i = 0; i < threads; i++)
        pthread_join(others[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    return ((ended.tv_sec - began.tv_sec) * 1e9 + (ended.tv_nsec - began.tv_nsec))
        / ((double)threads * ADDITIONS);
}

int main(void) {
    printf("%.3f %.3f\n", nanoseconds(1), nanoseconds(2));
    return 0;
}
