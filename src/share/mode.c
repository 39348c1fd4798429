#include "share/mode.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "counter/compute_mode.h"
#include "share/place.h"

enum { PATH_SIZE = 512 };
static const char NOTE[] = "compute-mode";

static const char *note_path(const struct mps *mps, char ret[PATH_SIZE])
{
    snprintf(ret, PATH_SIZE, "%s/%s", mps->folder, NOTE);
    return ret;
}

bool mode_is_noted_in(const char *parent, const char *name)
{
    char path[PATH_SIZE];
    int length = snprintf(path, sizeof(path), "%s/%s/%s", parent, name, NOTE);
    return name[0] != '.' && length > 0 && (size_t)length < sizeof(path) && access(path, F_OK) == 0;
}

bool mode_is_noted(const struct mps *mps)
{
    char path[PATH_SIZE];
    return access(note_path(mps, path), F_OK) == 0;
}

static int write_note(const struct mps *mps, enum compute_mode mode,
                      struct counter_failure *failure)
{
    char path[PATH_SIZE];
    struct strbuf text = {0};
    strbuf_printf(&text, "%d\n", (int)mode);
    int r = file_replace(note_path(mps, path), &text);
    strbuf_free(&text);
    return r < 0 ? share_fail(failure, r, "", "%s: %s", path, strerror(-r)) : 0;
}

/* One that cannot be read is of the usual mode. */
static enum compute_mode read_note(const struct mps *mps)
{
    char path[PATH_SIZE], text[16];
    int mode;
    return file_read(note_path(mps, path), text, sizeof(text)) > 0 &&
                   sscanf(text, "%d", &mode) == 1 && mode >= 0 && mode < COMPUTE_EXCLUSIVE_PROCESS
               ? (enum compute_mode)mode
               : COMPUTE_SHARED;
}

static void forget(const struct mps *mps)
{
    char path[PATH_SIZE];
    unlink(note_path(mps, path));
}

int mode_close(const struct mps *mps, struct counter_failure *failure)
{
    enum compute_mode before;
    *failure = (struct counter_failure){0};
    int r = compute_mode_read(mps->uuid, &before, failure);
    if (r < 0 || before == COMPUTE_EXCLUSIVE_PROCESS)
        return r;
    r = write_note(mps, before, failure);
    if (r < 0)
        return r;
    r = compute_mode_set(mps->uuid, COMPUTE_EXCLUSIVE_PROCESS, failure);
    if (r < 0)
        forget(mps);
    return r;
}

int mode_restore(const struct mps *mps, struct counter_failure *failure)
{
    enum compute_mode now;
    if (!mode_is_noted(mps))
        return 0;
    int r = compute_mode_read(mps->uuid, &now, failure);
    if (r == 0 && now == COMPUTE_EXCLUSIVE_PROCESS)
        r = compute_mode_set(mps->uuid, read_note(mps), failure);
    if (r == 0)
        forget(mps);
    return r;
}
