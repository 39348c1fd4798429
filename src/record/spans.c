#include "record/spans.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "metric/mark.h"

/* Of one call: a device and a pipe that is always full have no end. */
enum { BLOCK_BYTES = 4096, MOST_BLOCKS = 4096, LONGEST_LINE = 1 << 16 };

struct record_spans {
    char *path;
    int fd;
    unsigned long line;       /* number of the last whole line */
    struct strbuf unfinished; /* the beginning of a line whose end has not come */
};

int record_spans_open(struct record_spans **ret, const char *path)
{
    struct record_spans *spans = calloc(1, sizeof(*spans));
    char *copy = strdup(path);
    if (!spans || !copy) {
        free(spans);
        free(copy);
        return -ENOMEM;
    }
    spans->path = copy;
    spans->fd = -1;
    *ret = spans;
    return 0;
}

void record_spans_close(struct record_spans *spans)
{
    if (!spans)
        return;
    if (spans->fd >= 0)
        close(spans->fd);
    strbuf_free(&spans->unfinished);
    free(spans->path);
    free(spans);
}

static double time_of(const json_t *object, const char *key)
{
    double time = json_number_value(json_object_get(object, key));
    return isfinite(time) && time > 0 ? time : 0;
}

/* NULL, or what is wrong with the line. */
static const char *parse_span(const char *line, struct mark *ret)
{
    json_error_t error;
    json_t *object = json_loads(line, 0, &error);
    if (!object)
        return "this is no JSON";
    const char *name = json_string_value(json_object_get(object, "name"));
    double begin = time_of(object, "t0");
    double end = json_object_get(object, "t1") ? time_of(object, "t1") : begin;
    const char *wrong = NULL;
    if (!name || !name[0])
        wrong = "the span has no \"name\"";
    else if (begin == 0)
        wrong = "the span has no time \"t0\"";
    else if (end < begin)
        wrong = "\"t1\" is before \"t0\"";
    else {
        *ret = (struct mark){.time = begin, .end = end};
        utf8_clean(ret->name, sizeof(ret->name), name);
    }
    json_decref(object);
    return wrong;
}

static int take_line(struct record_spans *spans, struct record_writer *writer, char *why,
                     size_t why_size)
{
    spans->line++;
    const char *line = strbuf_text(&spans->unfinished);
    if (line[strspn(line, " \t\r")] == '\0')
        return 0;
    struct mark mark;
    const char *wrong =
        strbuf_failed(&spans->unfinished) ? "the line is too long" : parse_span(line, &mark);
    if (wrong) {
        snprintf(why, why_size, "%s: line %lu: %s", spans->path, spans->line, wrong);
        return -EBADMSG;
    }
    int r = record_writer_mark(writer, mark.time, mark.end, mark.name);
    return r < 0 ? r : 1;
}

/* Bytes read, 0 where there are no more for now, or −errno. */
static ssize_t read_block(struct record_spans *spans, char *block)
{
    if (spans->fd < 0)
        spans->fd = open(spans->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (spans->fd < 0)
        return -errno;
    ssize_t got = read(spans->fd, block, BLOCK_BYTES);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    return got;
}

int record_spans_write(struct record_spans *spans, struct record_writer *writer, bool last,
                       char *why, size_t why_size)
{
    int count = 0;
    int failure = 0;
    char block[BLOCK_BYTES];
    ssize_t got = 0;
    for (int blocks = 0; blocks < MOST_BLOCKS; blocks++) {
        got = read_block(spans, block);
        if (got < 0 || (got == 0 && !last))
            break;
        if (got == 0) {
            block[got++] = '\n';
            last = false;
        }
        for (ssize_t i = 0; i < got; i++) {
            if (block[i] != '\n') {
                if (spans->unfinished.length < LONGEST_LINE)
                    strbuf_putc(&spans->unfinished, block[i]);
                else
                    spans->unfinished.failed = true;
                continue;
            }
            int r = take_line(spans, writer, why, why_size);
            strbuf_free(&spans->unfinished);
            if (r < 0 && r != -EBADMSG)
                return r;
            if (r < 0)
                failure = r;
            else
                count += r;
        }
    }
    if (got > 0 && last)
        got = -EFBIG;
    if (got < 0) {
        snprintf(why, why_size, "%s: %s", spans->path, strerror((int)-got));
        return (int)got;
    }
    return failure < 0 ? failure : count;
}
