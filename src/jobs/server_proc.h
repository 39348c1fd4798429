/* From a server's processes to its socket. Part of jobs/server. */
#pragma once

#include "jobs/server.h"

/* Finds out whether the server listens on its port where loopback leads: fills `reachable`, `ipv6`
 * and `silence`. */
void server_find_socket(const char *root, struct server *server);
