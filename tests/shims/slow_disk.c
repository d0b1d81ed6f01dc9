/* A slow disk: LD_PRELOAD this, and each fsync takes 600 ms. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void nap(void) {
    struct timespec length = {0, 600000000};
    nanosleep(&length, NULL);
}

int fsync(int file) {
    nap();
    return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    nap();
    return syscall(SYS_fdatasync, file);
}
