/* Landlock and seccomp by their system calls: headers of older kernels lack the newer constants,
 * which are part of the kernel's interface and therefore defined here.
 *
 * The filter lists the refused system calls, not the allowed ones: OpenBLAS, LLVM, MPI and the C
 * library use different calls in each version, while what the refused calls can reach does not
 * change. x86-64 has a second numbering (x32), which is refused as a whole; a 32-bit call ends the
 * process. */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

/* --- files: Landlock --- */

#define SYS_LANDLOCK_CREATE 444
#define SYS_LANDLOCK_ADD 445
#define SYS_LANDLOCK_RESTRICT 446
#define CREATE_VERSION 1u /* flag of SYS_LANDLOCK_CREATE: return the version */
#define RULE_PATH_BENEATH 1

/* Rights of files, by the version that has them first. */
#define FS_WRITE_FILE (1u << 1)
#define FS_READ_FILE (1u << 2)
#define FS_READ_DIR (1u << 3)
#define FS_REMOVE_DIR (1u << 4)
#define FS_REMOVE_FILE (1u << 5)
#define FS_MAKE_DIR (1u << 7)
#define FS_MAKE_REG (1u << 8)
#define FS_MAKE_SOCK (1u << 9)
#define FS_TRUNCATE (1u << 14)
#define FS_VERSION_1 ((1u << 13) - 1)
#define FS_VERSION_2 ((1u << 14) - 1) /* and links and renames from folder to folder */
#define FS_VERSION_3 ((1u << 15) - 1) /* and truncation */
#define FS_VERSION_5 ((1u << 16) - 1) /* and ioctl of devices */
#define NET_TCP 3u                    /* bind and connect; version 4 */
#define SCOPE_ALL 3u                  /* abstract sockets and signals; version 6 */

#define FS_OF_FILES (FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE)
#define FS_READ (FS_READ_FILE | FS_READ_DIR)
#define FS_WRITE                                                                          \
  (FS_READ | FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | \
   FS_MAKE_SOCK | FS_TRUNCATE)

/* The kernel's struct landlock_ruleset_attr; versions before 6 know a prefix of it. */
typedef struct ruleset_attr {
  uint64_t handled_fs;
  uint64_t handled_net;
  uint64_t scoped;
} ruleset_attr_t;

/* The kernel's struct landlock_path_beneath_attr. */
typedef struct __attribute__((packed)) path_attr {
  uint64_t allowed;
  int32_t parent;
} path_attr_t;

static uint64_t handled_rights(int abi) {
  if (abi >= 5) return FS_VERSION_5;
  if (abi >= 3) return FS_VERSION_3;
  return abi >= 2 ? FS_VERSION_2 : FS_VERSION_1;
}

static size_t attr_bytes(int abi) {
  if (abi >= 6) return sizeof(ruleset_attr_t);
  return abi >= 4 ? offsetof(ruleset_attr_t, scoped) : offsetof(ruleset_attr_t, handled_net);
}

hr_status_t hr_sandbox_files_open(bool tcp, hr_sandbox_files_t *out_files) {
  int abi = (int)syscall(SYS_LANDLOCK_CREATE, NULL, 0, CREATE_VERSION);
  if (abi < 1)
    return hr_error(HR_UNAVAILABLE,
                    "the kernel cannot restrict this process to its files (Landlock, since Linux "
                    "5.13): %s",
                    strerror(errno));
  ruleset_attr_t attr = {.handled_fs = handled_rights(abi), .scoped = SCOPE_ALL};
  if (!tcp) attr.handled_net = NET_TCP;
  int fd = (int)syscall(SYS_LANDLOCK_CREATE, &attr, attr_bytes(abi), 0);
  if (fd < 0) return hr_error(HR_UNAVAILABLE, "cannot make a sandbox: %s", strerror(errno));
  *out_files = (hr_sandbox_files_t){fd, abi};
  return NULL;
}

hr_status_t hr_sandbox_files_allow(const hr_sandbox_files_t *files, const char *path,
                                   hr_sandbox_access_t access) {
  struct stat status;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return NULL;
  uint64_t rights = access == HR_SANDBOX_WRITE ? FS_WRITE : FS_READ;
  if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= FS_OF_FILES;
  path_attr_t attr = {rights & handled_rights(files->abi), fd};
  long result = syscall(SYS_LANDLOCK_ADD, files->ruleset, RULE_PATH_BENEATH, &attr, 0);
  hr_status_t st = NULL;
  if (result) st = hr_error(HR_UNAVAILABLE, "sandbox: %s: %s", path, strerror(errno));
  close(fd);
  return st;
}

hr_status_t hr_sandbox_files_close(hr_sandbox_files_t *files) {
  hr_status_t st = NULL;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_LANDLOCK_RESTRICT, files->ruleset, 0))
    st = hr_error(HR_UNAVAILABLE, "cannot enter the sandbox: %s", strerror(errno));
  close(files->ruleset);
  files->ruleset = -1;
  return st;
}

/* --- system calls: seccomp --- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef ARCH

#define X32_FIRST 0x40000000u
#define EXTRA_CALLS 16    /* instructions for arguments, arch and end */
#define SYS_CLONE3 435    /* newer calls have one number on all processors */
#define SYS_OPEN_TREE 428 /* open_tree, move_mount, fsopen, fsconfig, fsmount, fspick: to 433 */
#define SYS_PIDFD_OPEN 434
#define SYS_PIDFD_GETFD 438
#define SYS_PROCESS_MADVISE 440
#define SYS_MOUNT_SETATTR 442
#define SYS_PROCESS_MRELEASE 448
#define SYS_FCHMODAT2 452
#define SYS_SETXATTRAT 463 /* then getxattrat, listxattrat, removexattrat */

/* Refused whatever the arguments. */
static const unsigned refused[] = {
    /* programs and processes */
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_tkill,
    SYS_PIDFD_OPEN,
    SYS_PIDFD_GETFD,
    SYS_pidfd_send_signal,
    SYS_PROCESS_MADVISE,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_PROCESS_MRELEASE,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
    /* the file system as a whole; file handles, which bypass the list of files */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_OPEN_TREE,
    SYS_OPEN_TREE + 1,
    SYS_OPEN_TREE + 2,
    SYS_OPEN_TREE + 3,
    SYS_OPEN_TREE + 4,
    SYS_OPEN_TREE + 5,
    SYS_MOUNT_SETATTR,
    SYS_quotactl,
    /* operations that Landlock does not restrict: modes, owners, times and attributes of files by
     * their paths, and lengths before its version 3 */
    SYS_truncate,
    SYS_fchmodat,
    SYS_FCHMODAT2,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_SETXATTRAT,
    SYS_SETXATTRAT + 3, /* removexattrat */
#ifdef SYS_chmod
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
    SYS_swapon,
    SYS_swapoff,
    /* namespaces, users and limits */
    SYS_unshare,
    SYS_setns,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
    SYS_personality,
    /* the kernel: programs in it, queues that bypass this filter, keys, modules, clocks */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_syslog,
    SYS_acct,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_vhangup,
    SYS_fanotify_init,
    /* memory and queues that others can reach */
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_semget,
    SYS_semop,
    SYS_semctl,
    SYS_mq_open,
    SYS_mq_unlink,
};
#define REFUSED_COUNT (sizeof refused / sizeof *refused)

static const unsigned socket_calls[] = {SYS_socket, SYS_bind,   SYS_connect,
                                        SYS_listen, SYS_accept, SYS_accept4};
#define SOCKET_COUNT (sizeof socket_calls / sizeof *socket_calls)

typedef struct filter {
  struct sock_filter code[2 * (REFUSED_COUNT + SOCKET_COUNT) + 8 * EXTRA_CALLS];
  unsigned short count;
} filter_t;

static void emit(filter_t *filter, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf) {
  filter->code[filter->count++] = (struct sock_filter){code, jt, jf, k};
}

static void load(filter_t *filter, size_t offset) {
  emit(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Offset of the low half of argument i, on a little-endian machine. */
#define ARG_LOW(i) (offsetof(struct seccomp_data, args) + 8 * (i))

static void refuse(filter_t *filter, unsigned call, int error) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
  emit(filter, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error, 0, 0);
}

/* Skips `count` instructions unless the call is this one. */
static void only_for(filter_t *filter, unsigned call, uint8_t count) {
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, call, 0, count);
}

/* Refuses `call` unless the test of its argument i with `k` holds. The call's number is loaded
 * again afterwards. */
static void refuse_unless(filter_t *filter, unsigned call, int i, uint16_t test, uint32_t k) {
  only_for(filter, call, 4);
  load(filter, ARG_LOW(i));
  emit(filter, BPF_JMP | test | BPF_K, k, 1, 0);
  emit(filter, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
  load(filter, offsetof(struct seccomp_data, nr));
}

static void refuse_if(filter_t *filter, unsigned call, int i, uint32_t k) {
  only_for(filter, call, 4);
  load(filter, ARG_LOW(i));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
  emit(filter, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
  load(filter, offsetof(struct seccomp_data, nr));
}

/* Threads may be started, processes may not. The newest call for both is reported as missing, so
 * that the C library falls back to the older one, whose flags the filter can test. */
static void write_filter(filter_t *filter, bool sockets) {
  load(filter, offsetof(struct seccomp_data, arch));
  emit(filter, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
  emit(filter, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  load(filter, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
  emit(filter, BPF_JMP | BPF_JGE | BPF_K, X32_FIRST, 0, 1);
  emit(filter, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
#endif
  for (size_t i = 0; i < REFUSED_COUNT; i++) refuse(filter, refused[i], EPERM);
  for (size_t i = 0; i < SOCKET_COUNT && !sockets; i++) refuse(filter, socket_calls[i], EPERM);
  refuse(filter, SYS_CLONE3, ENOSYS);
  refuse_unless(filter, SYS_clone, 0, BPF_JSET, CLONE_THREAD);
  refuse_unless(filter, SYS_kill, 0, BPF_JEQ, (uint32_t)getpid());
  refuse_unless(filter, SYS_tgkill, 0, BPF_JEQ, (uint32_t)getpid());
  refuse_unless(filter, SYS_prlimit64, 0, BPF_JEQ, 0);
  refuse_if(filter, SYS_ioctl, 1, TIOCSTI);
  emit(filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

hr_status_t hr_sandbox_calls(bool sockets) {
  filter_t filter = {.count = 0};
  write_filter(&filter, sockets);
  struct sock_fprog program = {filter.count, filter.code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0)
    return NULL;
  return hr_error(HR_UNAVAILABLE, "the kernel cannot filter system calls (seccomp): %s",
                  strerror(errno));
}

#else

hr_status_t hr_sandbox_calls(bool sockets) {
  (void)sockets;
  return hr_error(HR_UNAVAILABLE, "the filter of system calls is not known for this processor");
}

#endif
