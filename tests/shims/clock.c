/* Moves the wall clock of one process: LD_PRELOAD this. The file that INTRAY_CLOCK names holds two numbers of milliseconds:
 * the first is added to the kernel's time; if the second is not 0, the clock is stopped at it. Tests move Redis's clock with
 * it instead of sleeping. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t none[2], *shift = none;

__attribute__((constructor)) static void look_up(void) {
    const char *path = getenv("INTRAY_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) shift = map;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    int failed = syscall(SYS_clock_gettime, clock, t);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
    if (shift[1]) *t = (struct timespec){0, 0};
    int64_t ms = shift[1] ? shift[1] : shift[0], ns = t->tv_nsec + ms % 1000 * 1000000;
    t->tv_sec += ms / 1000 + ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *t, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return t ? (*t = now.tv_sec) : now.tv_sec;
}
