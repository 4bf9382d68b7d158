/* Stands before the C library of a program (LD_PRELOAD) and refuses what FAULTS names, in files
 * whose path ends in ".part":
 *   nofallocate  blocks cannot be reserved, as on many network file systems
 *   nomap        no shared map for writing, as on FUSE with direct I/O
 *   quota        blocks cannot be reserved: the user's are used up
 *   quota=N      no more than N bytes are written: the user's blocks are used up
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static const char *fault(const char *name)
{
    const char *all = getenv("FAULTS");
    const char *found = all ? strstr(all, name) : NULL;
    return found ? found + strlen(name) : NULL;
}

static int is_part(int fd)
{
    char link[64], path[4096];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path);
    return length > 5 && !memcmp(path + length - 5, ".part", 5);
}

static int refusal(int fd)
{
    if (!is_part(fd))
        return 0;
    if (fault("nofallocate"))
        return EOPNOTSUPP;
    const char *rest = fault("quota");
    return rest && *rest != '=' ? EDQUOT : 0;
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    int code = refusal(fd);
    if (code) {
        errno = code;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
    return fallocate(fd, mode, offset, length);
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
    int code = refusal(fd);
    if (!code && syscall(SYS_fallocate, fd, 0, offset, length))
        code = errno;
    return code;
}

int posix_fallocate64(int fd, off64_t offset, off64_t length)
{
    return posix_fallocate(fd, offset, length);
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    int shared = (flags & MAP_SHARED) && (protection & PROT_WRITE);
    if (shared && fd >= 0 && fault("nomap") && is_part(fd)) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset)
{
    return mmap(at, length, protection, flags, fd, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    const char *rest = fault("quota=");
    static long long written;
    if (rest && is_part(fd)
        && __sync_add_and_fetch(&written, (long long)count) > atoll(rest)) {
        errno = EDQUOT;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
    return pwrite(fd, bytes, count, offset);
}
