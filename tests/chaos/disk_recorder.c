/* Records what a program and its children do to the files of one folder, in order, with what they force to disk.
 *
 * Loaded by LD_PRELOAD; PENSTOCK_DISK_ROOT is the folder, PENSTOCK_DISK_LOG the file that gets the records. A record is
 * written while all other recorded calls wait, so the log has the true order. recorded_disk.py reads it.
 * A call that changes files in a way that is not recorded here ends the program: a log is complete or there is none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record { /* followed by `first` and `second` bytes of text or data */
    uint8_t kind;
    uint64_t inode, offset;
    uint32_t first, second;
} __attribute__((packed));

static char root[PATH_MAX];
static size_t root_length;
static int log_file = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void give_up(const char *what) {
    dprintf(2, "disk_recorder: %s is not recorded\n", what);
    _exit(97);
}

static void open_log(void) {
    const char *path = getenv("PENSTOCK_DISK_LOG"), *folder = getenv("PENSTOCK_DISK_ROOT");
    if (!path || !folder || !realpath(folder, root)) return;
    root_length = strlen(root);
    log_file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log_file >= 0) { /* out of the way of programs that close or replace low numbers */
        int high = fcntl(log_file, F_DUPFD_CLOEXEC, 900);
        if (high >= 0) { syscall(SYS_close, log_file); log_file = high; }
    }
}

static void in_child(void) { /* a lock of its own: a forked one would be shared with the parent */
    pthread_mutex_init(&turn, NULL);
    if (log_file >= 0) syscall(SYS_close, log_file);
    log_file = -1;
    open_log();
}

__attribute__((constructor)) static void start(void) {
    open_log();
    pthread_atfork(NULL, NULL, in_child);
}

static void begin(void) {
    pthread_mutex_lock(&turn);
    while (flock(log_file, LOCK_EX) && errno == EINTR) {}
}

static void end(void) {
    flock(log_file, LOCK_UN);
    pthread_mutex_unlock(&turn);
}

static void put(uint8_t kind, uint64_t inode, uint64_t offset, const char *first, const struct iovec *data, int count,
                size_t length) {
    struct record head = {kind, inode, offset, first ? strlen(first) : 0, length};
    struct iovec parts[66] = {{&head, sizeof head}, {(void *)first, head.first}};
    if (count > 64) give_up("a write of so many parts");
    size_t left = length, total = sizeof head + head.first + length;
    for (int each = 0; each < count; each++) {
        parts[2 + each] = data[each];
        if (parts[2 + each].iov_len > left) parts[2 + each].iov_len = left;
        left -= parts[2 + each].iov_len;
    }
    if (syscall(SYS_writev, log_file, parts, 2 + count) != (ssize_t)total) give_up("a full disk");
}

static void put_names(uint8_t kind, uint64_t inode, const char *first, const char *second) {
    struct iovec name = {(void *)second, second ? strlen(second) : 0};
    put(kind, inode, 0, first, &name, 1, name.iov_len);
}

static int is_inside(const char *path) {
    return !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The absolute path of a name whose last part may not exist; 0 if it is not below the folder. */
static int locate(int folder, const char *name, char *found) {
    char whole[PATH_MAX], above[PATH_MAX], link[64];
    if (log_file < 0 || !name) return 0;
    if (name[0] == '/') snprintf(whole, sizeof whole, "%s", name);
    else {
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, above, sizeof above - 1);
        if (length < 0) return 0;
        above[length] = 0;
        if (snprintf(whole, sizeof whole, "%s/%s", above, name) >= (int)sizeof whole) return 0;
    }
    size_t length = strlen(whole);
    while (length > 1 && whole[length - 1] == '/') whole[--length] = 0;
    char *slash = strrchr(whole, '/');
    if (!slash || slash == whole) return 0;
    *slash = 0;
    if (!realpath(whole, found)) return 0;
    size_t prefix = strlen(found);
    snprintf(found + prefix, PATH_MAX - prefix, "/%s", slash + 1);
    return is_inside(found);
}

/* The inode of a regular file or folder below the folder that is open as `file`; 0 otherwise. */
static uint64_t inode_of(int file, int folders) {
    struct stat found;
    char link[64], path[PATH_MAX];
    if (log_file < 0 || file < 0 || file == log_file) return 0;
    if (syscall(SYS_fstat, file, &found) || !(S_ISREG(found.st_mode) || (folders && S_ISDIR(found.st_mode)))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_inside(path) ? found.st_ino : 0;
}

static uint64_t inode_at(const char *path) {
    struct stat found;
    return syscall(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) ? 0 : found.st_ino;
}

/* ------------------------------------------------------------------------------------------------ files are opened */

static int record_open(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    int changes = flags & (O_CREAT | O_TRUNC);
    if (!changes || (flags & O_TMPFILE) == O_TMPFILE || !locate(folder, name, path))
        return syscall(SYS_openat, folder, name, flags, mode);
    begin();
    uint64_t before = inode_at(path);
    int file = syscall(SYS_openat, folder, name, flags, mode), code = errno;
    if (file >= 0) {
        uint64_t now = inode_of(file, 0);
        if (now && now != before) put_names('C', now, path, NULL);
        else if (now && (flags & O_TRUNC)) put('T', now, 0, NULL, NULL, 0, 0);
    }
    end();
    errno = code;
    return file;
}

#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, last); mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *name, int flags, ...) { MODE(flags, flags) return record_open(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) {
    MODE(flags, flags) return record_open(AT_FDCWD, name, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char *name, int flags, ...) { MODE(flags, flags) return record_open(folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) {
    MODE(flags, flags) return record_open(folder, name, flags | O_LARGEFILE, mode);
}
int __open_2(const char *name, int flags) { return record_open(AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return record_open(AT_FDCWD, name, flags | O_LARGEFILE, 0); }
int __openat_2(int folder, const char *name, int flags) { return record_open(folder, name, flags, 0); }
int __openat64_2(int folder, const char *name, int flags) { return record_open(folder, name, flags | O_LARGEFILE, 0); }
int creat(const char *name, mode_t mode) { return record_open(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return record_open(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static FILE *record_fopen(const char *name, const char *mode, FILE *(*real)(const char *, const char *)) {
    char path[PATH_MAX];
    if (strpbrk(mode, "wa+") && locate(AT_FDCWD, name, path)) give_up("fopen");
    return real(name, mode);
}
FILE *fopen(const char *name, const char *mode) { return record_fopen(name, mode, REAL(fopen)); }
FILE *fopen64(const char *name, const char *mode) { return record_fopen(name, mode, REAL(fopen64)); }

/* ------------------------------------------------------------------------------------------------- bytes are written */

static ssize_t record_write(int file, const struct iovec *parts, int count, off_t offset) {
    uint64_t inode = inode_of(file, 0);
    long low = offset;
    if (!inode) return offset < 0 ? syscall(SYS_writev, file, parts, count)
                                  : syscall(SYS_pwritev, file, parts, count, low, 0L);
    begin();
    ssize_t wrote = offset < 0 ? syscall(SYS_writev, file, parts, count)
                               : syscall(SYS_pwritev, file, parts, count, low, 0L);
    int code = errno;
    if (wrote > 0) {
        uint64_t at = offset < 0 ? (uint64_t)(syscall(SYS_lseek, file, 0L, SEEK_CUR) - wrote) : (uint64_t)offset;
        put('W', inode, at, NULL, parts, count, wrote);
    }
    end();
    errno = code;
    return wrote;
}

ssize_t write(int file, const void *bytes, size_t length) {
    if (!inode_of(file, 0)) return syscall(SYS_write, file, bytes, length);
    struct iovec part = {(void *)bytes, length};
    return record_write(file, &part, 1, -1);
}
ssize_t writev(int file, const struct iovec *parts, int count) { return record_write(file, parts, count, -1); }
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
    if (!inode_of(file, 0)) return syscall(SYS_pwrite64, file, bytes, length, offset);
    struct iovec part = {(void *)bytes, length};
    return record_write(file, &part, 1, offset);
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) { return pwrite(file, bytes, length, offset); }
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) { return record_write(file, parts, count, offset); }
ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) { return record_write(file, parts, count, offset); }

int ftruncate(int file, off_t length) {
    uint64_t inode = inode_of(file, 0);
    if (!inode) return syscall(SYS_ftruncate, file, length);
    begin();
    int failed = syscall(SYS_ftruncate, file, length), code = errno;
    if (!failed) put('T', inode, length, NULL, NULL, 0, 0);
    end();
    errno = code;
    return failed;
}
int ftruncate64(int file, off64_t length) { return ftruncate(file, length); }

#define REFUSED(type, name, parameters, file, arguments) \
    type name parameters { if (inode_of(file, 0)) give_up(#name); return REAL(name) arguments; }
REFUSED(int, fallocate, (int file, int mode, off_t at, off_t length), file, (file, mode, at, length))
REFUSED(int, fallocate64, (int file, int mode, off64_t at, off64_t length), file, (file, mode, at, length))
REFUSED(int, posix_fallocate, (int file, off_t at, off_t length), file, (file, at, length))
REFUSED(int, posix_fallocate64, (int file, off64_t at, off64_t length), file, (file, at, length))
REFUSED(ssize_t, copy_file_range, (int from, off64_t *in, int to, off64_t *out, size_t length, unsigned flags), to,
        (from, in, to, out, length, flags))

/* SQLite maps its index of the log (-shm), which it makes anew after a crash; nothing else may be written so. */
static void check_map(int protection, int flags, int file) {
    char link[64], path[PATH_MAX];
    if (!(protection & PROT_WRITE) || !(flags & MAP_SHARED) || (flags & MAP_ANONYMOUS) || !inode_of(file, 0)) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 4 || strncmp(path + length - 4, "-shm", 4)) give_up("a file that is written as memory");
}
void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset) {
    check_map(protection, flags, file);
    return (void *)syscall(SYS_mmap, at, length, protection, flags, file, offset);
}
void *mmap64(void *at, size_t length, int protection, int flags, int file, off64_t offset) {
    return mmap(at, length, protection, flags, file, offset);
}

/* -------------------------------------------------------------------------------------------------- names are changed */

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char old[PATH_MAX], new[PATH_MAX];
    int left = locate(from_folder, from, old), came = locate(to_folder, to, new);
    if (left != came) give_up("a rename into or out of the folder");
    if (!left) return syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    begin();
    int failed = syscall(SYS_renameat2, from_folder, from, to_folder, to, flags), code = errno;
    if (!failed) put_names('R', inode_at(new), old, new);
    end();
    errno = code;
    return failed;
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return renameat2(from_folder, from, to_folder, to, 0);
}
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char old[PATH_MAX], new[PATH_MAX];
    if (!locate(to_folder, to, new)) return syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (!locate(from_folder, from, old)) give_up("a link from outside the folder");
    begin();
    int failed = syscall(SYS_linkat, from_folder, from, to_folder, to, flags), code = errno;
    if (!failed) put_names('L', inode_at(new), old, new);
    end();
    errno = code;
    return failed;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
int symlink(const char *target, const char *name) {
    char path[PATH_MAX];
    if (locate(AT_FDCWD, name, path)) give_up("a symbolic link");
    return syscall(SYS_symlinkat, target, AT_FDCWD, name);
}

int unlinkat(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    if (!locate(folder, name, path)) return syscall(SYS_unlinkat, folder, name, flags);
    begin();
    int failed = syscall(SYS_unlinkat, folder, name, flags), code = errno;
    if (!failed) put_names('U', 0, path, NULL);
    end();
    errno = code;
    return failed;
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char *name) {
    int failed = unlink(name);
    return failed && (errno == EISDIR || errno == EPERM) ? rmdir(name) : failed;
}

int mkdirat(int folder, const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (!locate(folder, name, path)) return syscall(SYS_mkdirat, folder, name, mode);
    begin();
    int failed = syscall(SYS_mkdirat, folder, name, mode), code = errno;
    if (!failed) put_names('D', inode_at(path), path, NULL);
    end();
    errno = code;
    return failed;
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* ------------------------------------------------------------------------------------------ what is forced to the disk */

static int record_sync(int file, long call) {
    uint64_t inode = inode_of(file, 1);
    if (!inode) return syscall(call, file);
    begin(); /* nothing is really forced: the record says what would be, and the test is faster */
    put('S', inode, 0, NULL, NULL, 0, 0);
    end();
    return 0;
}
int fsync(int file) { return record_sync(file, SYS_fsync); }
int fdatasync(int file) { return record_sync(file, SYS_fdatasync); }
