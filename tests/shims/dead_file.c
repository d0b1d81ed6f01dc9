/* A file on a disk that does not answer: LD_PRELOAD this. While the file that DEAD_FILE names has another beside it with
 * the suffix `.dead`, opening it never returns; the suffix `.asked` marks an attempt. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int opened(int folder, const char *path, int flags, int mode) {
    const char *dead = getenv("DEAD_FILE");
    char mark[4096];
    if (dead && strcmp(dead, path) == 0) {
        snprintf(mark, sizeof mark, "%s.dead", dead);
        while (access(mark, F_OK) == 0) {
            char asked[4096];
            snprintf(asked, sizeof asked, "%s.asked", dead);
            int file = syscall(SYS_openat, AT_FDCWD, asked, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
            if (file >= 0) close(file);
            struct timespec moment = {0, 20000000};
            nanosleep(&moment, NULL);
        }
    }
    return syscall(SYS_openat, folder, path, flags, mode);
}

#define WITH_MODE(call) \
    va_list rest; \
    va_start(rest, flags); \
    int mode = va_arg(rest, int); \
    va_end(rest); \
    return call

int open(const char *path, int flags, ...) { WITH_MODE(opened(AT_FDCWD, path, flags, mode)); }
int open64(const char *path, int flags, ...) { WITH_MODE(opened(AT_FDCWD, path, flags, mode)); }
int openat(int folder, const char *path, int flags, ...) { WITH_MODE(opened(folder, path, flags, mode)); }
int openat64(int folder, const char *path, int flags, ...) { WITH_MODE(opened(folder, path, flags, mode)); }
