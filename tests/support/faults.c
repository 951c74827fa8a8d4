/*
 * Counts the calls that change a folder. At a chosen call it kills the process or makes calls fail.
 *
 * The library is loaded with LD_PRELOAD. FAULT_FOLDER is the folder. Each call adds a line to
 * FAULT_LOG. FAULT_AT is the number of a call, from 1. At this call the process is killed if
 * FAULT_ERRNO is 0. Otherwise this call and all later calls fail with the error FAULT_ERRNO, except
 * calls that free space. A forked process counts its own calls, from 1. Calls for other folders are
 * not counted and do not fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long count;
static pid_t owner;

static void forked(void) {
    owner = getpid();
    atomic_store(&count, 0);
}
__attribute__((constructor)) static void begin(void) {
    owner = getpid();
    pthread_atfork(NULL, NULL, forked);
}

static int inside(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int inside_fd(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return inside(path);
}

/* Returns whether the call must fail, and sets errno; or kills the process if FAULT_ERRNO is 0. */
static int hit(const char *call, int is_inside, const char *path) {
    if (!is_inside || getpid() != owner) return 0;
    long number = atomic_fetch_add(&count, 1) + 1;
    const char *log = getenv("FAULT_LOG"), *at = getenv("FAULT_AT"), *code = getenv("FAULT_ERRNO");
    if (log) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%ld %s %s\n", number, call, path);
        int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
        if (out >= 0) { real(out, line, length); close(out); }
    }
    if (!at || number < atol(at)) return 0;
    if (!code || atoi(code) == 0) { kill(getpid(), SIGKILL); pause(); }
    if (call[0] == 'u' || !strcmp(call, "rmdir")) return 0; /* unlink and rmdir free space */
    errno = atoi(code);
    return 1;
}

#define REAL(name) __typeof__(name) *real = dlsym(RTLD_NEXT, #name)

int rename(const char *from, const char *to) {
    REAL(rename);
    return hit("rename", inside(to), to) ? -1 : real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    REAL(renameat);
    return hit("rename", inside(to), to) ? -1 : real(a, from, b, to);
}
int unlink(const char *path) {
    REAL(unlink);
    return hit("unlink", inside(path), path) ? -1 : real(path);
}
int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat);
    return hit("unlink", inside(path), path) ? -1 : real(at, path, flags);
}
int rmdir(const char *path) {
    REAL(rmdir);
    return hit("rmdir", inside(path), path) ? -1 : real(path);
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return hit("mkdir", inside(path), path) ? -1 : real(path, mode);
}
int fsync(int fd) {
    REAL(fsync);
    return hit("fsync", inside_fd(fd), "") ? -1 : real(fd);
}
ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    return hit("write", inside_fd(fd), "") ? -1 : real(fd, data, size);
}
static int opened(const char *path, int flags) {
    return (flags & (O_CREAT | O_TRUNC)) && hit("open", inside(path), path);
}
int open64(const char *path, int flags, ...) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return opened(path, flags) ? -1 : real(path, flags, mode);
}
