/* A named moment or span of a recording. */
#pragma once

enum { MARK_NAME_SIZE = 96 };

struct mark {
    double time; /* seconds since 1970 */
    double end;  /* equal to time for a moment */
    char name[MARK_NAME_SIZE];
};
