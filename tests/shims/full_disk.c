/* A disk that is nearly full: LD_PRELOAD this. The file that FULL_DISK names holds two numbers: how many bytes the
 * append-only files may still grow by, and how many are reported as free. Negative: no limit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int64_t none[2] = {-1, -1}, *disk = none;

__attribute__((constructor)) static void look_up(void) {
    const char *path = getenv("FULL_DISK");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) disk = map;
}

static int is_appended(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 9) return 0;
    path[length] = 0;
    return strcmp(path + length - 9, ".incr.aof") == 0;
}

ssize_t write(int file, const void *bytes, size_t size) {
    if (disk[0] < 0 || !is_appended(file)) return syscall(SYS_write, file, bytes, size);
    if (disk[0] == 0 && size > 0) {
        errno = ENOSPC;
        return -1;
    }
    size_t fits = (int64_t)size < disk[0] ? size : (size_t)disk[0];
    ssize_t written = syscall(SYS_write, file, bytes, fits);
    if (written > 0) disk[0] -= written;
    return written;
}

int ftruncate(int file, off_t length) {
    struct stat before;
    int counts = disk[0] >= 0 && is_appended(file) && fstat(file, &before) == 0;
    int failed = syscall(SYS_ftruncate, file, length);
    if (counts && !failed) disk[0] += before.st_size - length;
    return failed;
}

/* The 64-bit name too. */
int ftruncate64(int file, off_t length) { return ftruncate(file, length); }

int statvfs(const char *path, struct statvfs *stats) {
    static int (*next)(const char *, struct statvfs *);
    if (!next) next = (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs");
    int failed = next(path, stats);
    if (!failed && disk[1] >= 0) stats->f_bavail = disk[1] / stats->f_frsize;
    return failed;
}
