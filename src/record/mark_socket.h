/* `rooftop mark NAME`: from any program to the recorders of this user on this host. Each recorder
 * has a datagram socket in a folder that only the user can enter. */
#pragma once

#include "base/util.h"
#include "metric/mark.h"

/* A recorder's end. */
struct mark_inbox;

/* Returns 0 or −errno: -EACCES where no folder for it can be trusted. */
MUST_CHECK int mark_inbox_open(struct mark_inbox **ret);
void mark_inbox_close(struct mark_inbox *inbox);
/* Readable when a mark has come. */
int mark_inbox_fd(const struct mark_inbox *inbox);
/* Takes the next mark and tells its sender so. Returns 1, 0 where there is none, or −errno. */
int mark_inbox_take(struct mark_inbox *inbox, struct mark *ret);

/* Sends the mark to all recorders, and waits a second at most for their answers. Sockets whose
 * recorder has ended are removed. Returns 0 with the numbers of recorders that took it and that did
 * not answer, -EINVAL (a name that is empty) or another −errno. */
MUST_CHECK int mark_send(const struct mark *mark, unsigned *ret_taken, unsigned *ret_silent);
