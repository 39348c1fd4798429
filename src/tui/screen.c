#include "tui/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "base/clock.h"

enum look { LOOK_DIM = 1 << 0, LOOK_BOLD = 1 << 1, LOOK_REVERSE = 1 << 2 };

static const double DOUBLE_CLICK_SECONDS = 0.4;

struct style_look {
    short dark256, light256, dark8, light8;
    unsigned char look, mono;
};

static const struct style_look looks[STYLE_COUNT] = {
#define STYLE(id, dark256, light256, dark8, light8, look, mono)                                    \
    [STYLE_##id] = {dark256, light256, dark8, light8, look, mono},
#include "tui/style.def"
#undef STYLE
};

struct screen {
    SCREEN *terminal;
    struct cells shown; /* what the terminal shows */
    bool shown_all;     /* false: it is to be written anew */
    unsigned theme;
    bool mouse;
    attr_t attributes[STYLE_COUNT];
    short pair[STYLE_COUNT];

    double click_time;
    int click_x, click_y;
};

enum charset screen_charset(unsigned characters)
{
    const char *terminal = getenv("TERM");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0 || characters == CHARACTERS_ASCII)
        return CHARSET_ASCII;
    if (characters == CHARACTERS_AUTO)
        return terminal && strcmp(terminal, "linux") == 0 ? CHARSET_BLOCK : CHARSET_BRAILLE;
    return characters == CHARACTERS_BLOCK ? CHARSET_BLOCK : CHARSET_BRAILLE;
}

/* rxvt, konsole and others tell their colours as "FOREGROUND;BACKGROUND". */
static bool background_is_light(void)
{
    const char *colours = getenv("COLORFGBG");
    const char *background = colours ? strrchr(colours, ';') : NULL;
    return background && (strcmp(background, ";7") == 0 || strcmp(background, ";15") == 0);
}

static bool without_colour(unsigned theme)
{
    const char *no_color = getenv("NO_COLOR");
    return theme == THEME_MONO || (no_color && no_color[0]) || !has_colors();
}

static attr_t attributes_of(unsigned char look)
{
    attr_t attributes = A_NORMAL;
    if (look & LOOK_DIM)
        attributes |= A_DIM;
    if (look & LOOK_BOLD)
        attributes |= A_BOLD;
    if (look & LOOK_REVERSE)
        attributes |= A_REVERSE;
    return attributes;
}

static void set_theme(struct screen *screen, unsigned theme)
{
    bool mono = without_colour(theme);
    bool light = theme == THEME_LIGHT || (theme == THEME_AUTO && background_is_light());
    bool many = COLORS >= 256;
    for (int i = 0; i < STYLE_COUNT; i++) {
        const struct style_look *look = &looks[i];
        short colour =
            many ? (light ? look->light256 : look->dark256) : (light ? look->light8 : look->dark8);
        screen->pair[i] = 0;
        screen->attributes[i] = attributes_of(mono ? look->mono : look->look);
        if (mono || colour < 0)
            continue;
        /* A dimmed colour that is dim by itself could not be read. */
        screen->attributes[i] &= ~A_DIM;
        screen->pair[i] = (short)(i + 1);
        init_pair((short)(i + 1), colour, -1);
    }
    screen->theme = theme;
    screen->shown_all = false;
}

static void set_mouse(struct screen *screen, bool mouse)
{
    mousemask(mouse ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
    mouseinterval(0);
    screen->mouse = mouse;
}

int screen_open(struct screen **ret, const struct prefs *prefs)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return -ENOTTY;
    struct screen *screen = calloc(1, sizeof(*screen));
    if (!screen)
        return -ENOMEM;
    screen->terminal = newterm(NULL, stdout, stdin);
    if (!screen->terminal) {
        free(screen);
        return -ENOTSUP;
    }
    set_term(screen->terminal);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    set_escdelay(25);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    leaveok(stdscr, TRUE);
    if (has_colors()) {
        start_color();
        use_default_colors();
    }
    set_theme(screen, prefs->theme);
    set_mouse(screen, prefs->mouse);
    *ret = screen;
    return 0;
}

void screen_close(struct screen *screen)
{
    if (!screen)
        return;
    set_mouse(screen, false);
    endwin();
    delscreen(screen->terminal);
    cells_free(&screen->shown);
    free(screen);
}

void screen_size(const struct screen *screen, int *ret_width, int *ret_height)
{
    (void)screen;
    getmaxyx(stdscr, *ret_height, *ret_width);
}

void screen_resized(struct screen *screen)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    screen->shown_all = false;
}

void screen_adopt(struct screen *screen, const struct prefs *prefs)
{
    if (screen->theme != prefs->theme)
        set_theme(screen, prefs->theme);
    if (screen->mouse != (prefs->mouse != 0))
        set_mouse(screen, prefs->mouse);
}

void screen_forget(struct screen *screen)
{
    screen->shown_all = false;
}

static void put_cell(struct screen *screen, int x, int y, const struct cell *cell)
{
    if (cell->character == 0)
        return;
    cchar_t character;
    wchar_t text[2] = {(wchar_t)cell->character, L'\0'};
    setcchar(&character, text, screen->attributes[cell->style], screen->pair[cell->style], NULL);
    mvadd_wch(y, x, &character);
}

void screen_show(struct screen *screen, const struct cells *cells)
{
    struct cells *shown = &screen->shown;
    if (shown->width != cells->width || shown->height != cells->height)
        screen->shown_all = false;
    if (!screen->shown_all) {
        if (cells_resize(shown, cells->width, cells->height) < 0)
            return;
        clear();
    }
    bool changed = !screen->shown_all;
    for (int y = 0; y < cells->height; y++) {
        size_t row = (size_t)y * (size_t)cells->width;
        size_t bytes = (size_t)cells->width * sizeof(struct cell);
        if (screen->shown_all && memcmp(&cells->cell[row], &shown->cell[row], bytes) == 0)
            continue;
        changed = true;
        for (int x = 0; x < cells->width; x++)
            put_cell(screen, x, y, &cells->cell[row + (size_t)x]);
        memcpy(&shown->cell[row], &cells->cell[row], bytes);
    }
    screen->shown_all = true;
    if (changed)
        refresh();
}

static uint32_t code_of_key(wint_t key)
{
    static const struct {
        wint_t key;
        uint32_t code;
    } keys[] = {
        {KEY_UP, INPUT_UP},
        {KEY_DOWN, INPUT_DOWN},
        {KEY_LEFT, INPUT_LEFT},
        {KEY_RIGHT, INPUT_RIGHT},
        {KEY_SLEFT, INPUT_SHIFT_LEFT},
        {KEY_SRIGHT, INPUT_SHIFT_RIGHT},
        {KEY_HOME, INPUT_HOME},
        {KEY_END, INPUT_END},
        {KEY_PPAGE, INPUT_PAGE_UP},
        {KEY_NPAGE, INPUT_PAGE_DOWN},
        {KEY_ENTER, INPUT_ENTER},
        {KEY_BACKSPACE, INPUT_BACKSPACE},
        {KEY_DC, INPUT_DELETE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (keys[i].key == key)
            return keys[i].code;
    return key >= KEY_F(1) && key <= KEY_F(12) ? (uint32_t)INPUT_F(key - KEY_F0) : INPUT_NONE;
}

static uint32_t code_of_character(wint_t character)
{
    switch (character) {
    case '\r':
    case '\n':
        return INPUT_ENTER;
    case '\t':
        return INPUT_TAB;
    case 0x1B:
        return INPUT_ESCAPE;
    case 0x08:
    case 0x7F:
        return INPUT_BACKSPACE;
    default:
        return (uint32_t)character;
    }
}

static bool read_mouse(struct screen *screen, struct input *ret)
{
    MEVENT event;
    if (getmouse(&event) != OK)
        return false;
    *ret = (struct input){.x = event.x, .y = event.y};
    if (event.bstate & BUTTON4_PRESSED)
        ret->code = INPUT_WHEEL_UP;
    else if (event.bstate & BUTTON5_PRESSED)
        ret->code = INPUT_WHEEL_DOWN;
    else if (event.bstate & BUTTON1_PRESSED) {
        double now = clock_monotonic();
        bool again = now - screen->click_time < DOUBLE_CLICK_SECONDS &&
                     screen->click_x == event.x && screen->click_y == event.y;
        ret->code = again ? INPUT_DOUBLE_CLICK : INPUT_CLICK;
        screen->click_time = again ? 0 : now;
        screen->click_x = event.x;
        screen->click_y = event.y;
    } else
        return false;
    return true;
}

bool screen_read(struct screen *screen, struct input *ret)
{
    for (;;) {
        wint_t key;
        int kind = get_wch(&key);
        if (kind == ERR)
            return false;
        *ret = (struct input){0};
        if (kind == KEY_CODE_YES && key == KEY_MOUSE) {
            if (read_mouse(screen, ret))
                return true;
            continue;
        }
        ret->code = kind == KEY_CODE_YES ? code_of_key(key) : code_of_character(key);
        if (ret->code != INPUT_NONE)
            return true;
    }
}
