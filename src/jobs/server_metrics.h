/* What an inference server's /metrics tells, in the text form of Prometheus. */
#pragma once

#include "jobs/server.h"

/* False where it tells nothing. */
bool server_take_metrics(enum server_engine engine, const char *text, struct server_state *state);

/* NAN where there is no request. */
double server_per_request(double tokens, double requests);
