/* Runs a harness over the files of the folders given, and prints TAP. */
#include <dirent.h>
#include <unistd.h>

#include "fuzz.h"

static void replay(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    MUST(file);
    MUST(fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    MUST(size >= 0);
    rewind(file);
    uint8_t *data = malloc(size ? (size_t)size : 1);
    MUST(data);
    MUST(fread(data, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent **entries;
        int n = scandir(argv[i], &entries, is_input, alphasort);
        MUST(n >= 0);
        for (int k = 0; k < n; k++) {
            replay(argv[i], entries[k]->d_name);
            printf("ok %d - %s\n", ++count, entries[k]->d_name);
            fflush(stdout);
            free(entries[k]);
        }
        free(entries);
    }
    MUST(count > 0);
    printf("1..%d\n", count);
    return 0;
}
