/* The wall clock of a server under test. Preloaded, it lets the process read whatever time, in microseconds since 1970,
 * stands in the file that FENCEPOST_CLOCK names: the clock stands still until somebody writes another time. Or it lets the
 * process read the machine's time and as many microseconds more as stand in the file that FENCEPOST_AHEAD names.
 * Monotonic clocks are the machine's own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *reading, *ahead;

static const volatile int64_t *open_file(const char *path) {
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    /* A server on the wrong clock would be believed. */
    if (page == MAP_FAILED) _exit(97);
    close(file);
    return page;
}

__attribute__((constructor)) static void open_clock(void) {
    const char *stands = getenv("FENCEPOST_CLOCK");
    if (stands) reading = open_file(stands);
    else ahead = open_file(getenv("FENCEPOST_AHEAD"));
}

static int64_t now(void) {
    if (reading) return *reading;
    struct timespec machine;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &machine);
    return machine.tv_sec * 1000000 + machine.tv_nsec / 1000 + *ahead;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    (void)zone;
    int64_t micros = now();
    to->tv_sec = micros / 1000000;
    to->tv_usec = micros % 1000000;
    return 0;
}

time_t time(time_t *to) {
    time_t seconds = now() / 1000000;
    if (to) *to = seconds;
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *to) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, to);
    int64_t micros = now();
    to->tv_sec = micros / 1000000;
    to->tv_nsec = micros % 1000000 * 1000;
    return 0;
}
