#include "base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

enum { EVENTS_AT_ONCE = 16, SIGNAL_COUNT = 65 };

/* The thread whose loop takes signals, of its process. */
static pthread_t taker;
static pid_t taker_process;

/* Removed watches live on, dead, until the batch of events that may still name them is over. */
struct watch {
    struct watch *next;
    int fd;
    bool dead;
    loop_handler handler;
    void *context;
};

struct loop_timer {
    struct loop_timer *next;
    int fd;
    loop_handler handler;
    void *context;
};

struct loop {
    int epoll;
    bool stopped;
    int result;
    struct watch *watches;
    struct loop_timer *timers;

    int signal_fd;
    sigset_t signals;
    loop_signal_handler signal_handler[SIGNAL_COUNT];
    void *signal_context[SIGNAL_COUNT];
};

int loop_new(struct loop **ret)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    if (!loop)
        return -ENOMEM;
    sigemptyset(&loop->signals);
    loop->signal_fd = -1;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0) {
        int r = -errno;
        free(loop);
        return r;
    }
    *ret = loop;
    return 0;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    while (loop->timers) {
        struct loop_timer *timer = loop->timers;
        loop->timers = timer->next;
        close(timer->fd);
        free(timer);
    }
    while (loop->watches) {
        struct watch *watch = loop->watches;
        loop->watches = watch->next;
        free(watch);
    }
    if (loop->signal_fd >= 0)
        close(loop->signal_fd);
    close(loop->epoll);
    free(loop);
}

int loop_add(struct loop *loop, int fd, uint32_t events, loop_handler handler, void *context)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return -ENOMEM;
    *watch = (struct watch){
        .next = loop->watches,
        .fd = fd,
        .handler = handler,
        .context = context,
    };
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        int r = -errno;
        free(watch);
        return r;
    }
    loop->watches = watch;
    return 0;
}

void loop_remove(struct loop *loop, int fd)
{
    for (struct watch *watch = loop->watches; watch; watch = watch->next)
        if (watch->fd == fd && !watch->dead) {
            epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
            watch->dead = true;
        }
}

static void drop_dead(struct loop *loop)
{
    struct watch **link = &loop->watches;
    while (*link) {
        struct watch *watch = *link;
        if (watch->dead) {
            *link = watch->next;
            free(watch);
        } else
            link = &watch->next;
    }
}

static void timer_ready(void *context, uint32_t events)
{
    (void)events;
    struct loop_timer *timer = context;
    uint64_t count;
    if (read(timer->fd, &count, sizeof(count)) == sizeof(count))
        timer->handler(timer->context, (uint32_t)count);
}

int loop_add_timer(struct loop *loop, struct loop_timer **ret, loop_handler handler, void *context)
{
    struct loop_timer *timer = calloc(1, sizeof(*timer));
    if (!timer)
        return -ENOMEM;
    *timer = (struct loop_timer){
        .next = loop->timers,
        .fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
        .handler = handler,
        .context = context,
    };
    int r = timer->fd < 0 ? -errno : loop_add(loop, timer->fd, EPOLLIN, timer_ready, timer);
    if (r < 0) {
        if (timer->fd >= 0)
            close(timer->fd);
        free(timer);
        return r;
    }
    loop->timers = timer;
    *ret = timer;
    return 0;
}

int loop_timer_set(struct loop_timer *timer, double delay, double interval)
{
    struct itimerspec when = {
        .it_value = clock_timespec(delay),
        .it_interval = clock_timespec(interval),
    };
    return timerfd_settime(timer->fd, 0, &when, NULL) < 0 ? -errno : 0;
}

static void signal_ready(void *context, uint32_t events)
{
    (void)events;
    struct loop *loop = context;
    struct signalfd_siginfo info;
    while (read(loop->signal_fd, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo < SIGNAL_COUNT && loop->signal_handler[info.ssi_signo])
            loop->signal_handler[info.ssi_signo](loop->signal_context[info.ssi_signo],
                                                 (int)info.ssi_signo);
}

/* Runs in a thread that does not block the signal: one of a library's own, or a child before it
 * becomes another program. */
static void pass_on(int number)
{
    int error = errno;
    if (getpid() == taker_process)
        pthread_kill(taker, number);
    else {
        signal(number, SIG_DFL);
        raise(number);
    }
    errno = error;
}

static int divert(int number)
{
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    taker = pthread_self();
    taker_process = getpid();
    return sigaction(number, &action, NULL) < 0 ? -errno : 0;
}

bool loop_ignores_hangup(void)
{
    struct sigaction action;
    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int loop_add_signal(struct loop *loop, int signal, loop_signal_handler handler, void *context)
{
    if (signal == SIGHUP && loop_ignores_hangup())
        return 0;
    sigaddset(&loop->signals, signal);
    int r = -pthread_sigmask(SIG_BLOCK, &loop->signals, NULL);
    if (r == 0)
        r = divert(signal);
    if (r < 0)
        return r;
    bool first = loop->signal_fd < 0;
    int fd = signalfd(loop->signal_fd, &loop->signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    loop->signal_fd = fd;
    loop->signal_handler[signal] = handler;
    loop->signal_context[signal] = context;
    return first ? loop_add(loop, fd, EPOLLIN, signal_ready, loop) : 0;
}

void loop_stop(struct loop *loop, int result)
{
    loop->stopped = true;
    loop->result = result;
}

int loop_run(struct loop *loop)
{
    loop->stopped = false;
    while (!loop->stopped) {
        struct epoll_event events[EVENTS_AT_ONCE];
        int count = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, -1);
        if (count < 0 && errno != EINTR)
            return -errno;
        for (int i = 0; i < count && !loop->stopped; i++) {
            struct watch *watch = events[i].data.ptr;
            if (!watch->dead)
                watch->handler(watch->context, events[i].events);
        }
        drop_dead(loop);
    }
    return loop->result;
}
