/* For LD_PRELOAD: the calendar clock jumps. JUMPING_CLOCK="A,B,C": the first time that a process asks it is A, in seconds
   since 1970, then B, then C, then A again. Clocks that only measure durations go on as ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t next(void) {
  static const char* all;
  static char* at;
  if (all == NULL) all = at = getenv("JUMPING_CLOCK");
  if (all == NULL) return 0;
  const time_t seconds = strtoll(at, &at, 10);
  at = *at == ',' ? at + 1 : (char*)all;
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    now->tv_sec = next();
    now->tv_nsec = 0;
    return 0;
  }
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  return real(clock, now);
}

int gettimeofday(struct timeval* now, void* zone) {
  (void)zone;
  now->tv_sec = next();
  now->tv_usec = 0;
  return 0;
}

time_t time(time_t* now) {
  const time_t seconds = next();
  if (now != NULL) *now = seconds;
  return seconds;
}
