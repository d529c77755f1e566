# What `run` must find on the machine before it starts a program; sourced by it.
#
# Facts come from uname, getconf, ldd, ldconfig and nvidia-smi in PATH, and from these folders, so that a test can
# replace each of them.
: "${DRAFTMARK_TOOLKITS=/usr/local/cuda /usr/local/cuda-13*}"
: "${DRAFTMARK_SYSTEM_FOLDERS=/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /lib64 /usr/lib64 /usr/lib /usr/lib/wsl/lib}"
: "${DRAFTMARK_PROC_NVIDIA=/proc/driver/nvidia}"

OLDEST_GLIBC=2.36  # the newest symbol version that the programs use
OLDEST_DRIVER=580  # the first branch that runs CUDA 13
CUBLASLT=libcublasLt.so.13

# One sentence on stderr, exit code 2.
die() {
  echo "run: $*" >&2
  exit 2
}

# at_least VERSION OLDEST: compares major.minor.
at_least() {
  echo "$1 $2" | awk '{ split($1, a, "."); split($2, b, "."); exit !(a[1] > b[1] || (a[1] == b[1] && a[2] + 0 >= b[2] + 0)) }'
}

list_loader_cache() {
  for ldconfig in ldconfig /sbin/ldconfig /usr/sbin/ldconfig; do
    if command -v "$ldconfig" >/dev/null 2>&1; then
      "$ldconfig" -p 2>/dev/null
      return
    fi
  done
}

# Where the loader would find a library, or nothing: LD_LIBRARY_PATH, its cache, the system's folders.
find_library() {
  old_ifs=$IFS
  IFS=:
  for folder in ${LD_LIBRARY_PATH:-}; do
    if [ -n "$folder" ] && [ -e "$folder/$1" ]; then
      IFS=$old_ifs
      echo "$folder/$1"
      return
    fi
  done
  IFS=$old_ifs
  found=$(list_loader_cache | awk -v name="$1" '$1 == name && /x86-64/ && !found { sub(/.* => /, ""); print; found = 1 }')
  if [ -n "$found" ]; then
    echo "$found"
    return
  fi
  for folder in $DRAFTMARK_SYSTEM_FOLDERS; do
    if [ -e "$folder/$1" ]; then
      echo "$folder/$1"
      return
    fi
  done
}

check_machine() {
  [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    die "these programs are for Linux on x86-64; this machine is $(uname -s) on $(uname -m)"
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }')
  [ -n "$glibc" ] || glibc=$(ldd --version 2>/dev/null | awk 'NR == 1 && /GLIBC|GNU libc/ { print $NF }')
  [ -n "$glibc" ] || die "no glibc found (getconf GNU_LIBC_VERSION and ldd --version say none); $OLDEST_GLIBC or newer is needed"
  at_least "$glibc" $OLDEST_GLIBC || die "glibc is too old: found $glibc, $OLDEST_GLIBC or newer is needed"
}

# nvidia-smi's answer about the GPU that the programs use, the first one, or its complaint.
ask_gpu() {
  case ${CUDA_VISIBLE_DEVICES-} in
    '' | MIG-*) nvidia-smi "--query-gpu=$1" --format=csv,noheader ;;
    *) nvidia-smi -i "${CUDA_VISIBLE_DEVICES%%,*}" "--query-gpu=$1" --format=csv,noheader ;;
  esac 2>&1
}

check_driver_version() {
  case $driver in
    [0-9]*) ;;
    *) die "the NVIDIA driver does not answer: $driver" ;;
  esac
  at_least "$driver" $OLDEST_DRIVER ||
    die "the NVIDIA driver is too old: found $driver, CUDA 13 needs $OLDEST_DRIVER or newer"
}

# Sets driver, gpu, capability (9.0) and driver_cuda (13.0); the last two stay "unknown" where there is no nvidia-smi.
check_gpu() {
  gpu=unknown
  capability=unknown
  driver_cuda=unknown
  # What CUDA and nvidia-smi call the first GPU is then the same one.
  CUDA_DEVICE_ORDER=PCI_BUS_ID
  export CUDA_DEVICE_ORDER
  [ -n "$(find_library libcuda.so.1)" ] ||
    die "no NVIDIA driver: libcuda.so.1 is not among the system's libraries nor in LD_LIBRARY_PATH; install driver $OLDEST_DRIVER or newer"
  case ${CUDA_VISIBLE_DEVICES-unset} in
    '' | -1) die "no GPU: CUDA_VISIBLE_DEVICES hides all of them" ;;
  esac
  if command -v nvidia-smi >/dev/null 2>&1; then
    driver=$(ask_gpu driver_version) || case $driver in
      *'No devices'*) die "no GPU: nvidia-smi says \"$(echo "$driver" | sed -n 1p)\"" ;;
    esac
    driver=$(echo "$driver" | sed -n 1p)
    [ -n "$driver" ] || die "no GPU: nvidia-smi lists none"
    check_driver_version
    gpu=$(ask_gpu name | sed -n 1p)
    capability=$(ask_gpu compute_cap | sed -n 1p)
    driver_cuda=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA[A-Za-z ]* Version: *\([0-9.]*\).*/\1/p' | sed -n 1p)
    : "${driver_cuda:=unknown}"
    check_architecture
  else
    [ -r "$DRAFTMARK_PROC_NVIDIA/version" ] ||
      die "no NVIDIA driver: $DRAFTMARK_PROC_NVIDIA/version is not there, the kernel module is not loaded"
    driver=$(sed -n 's/^NVRM.* \([0-9][0-9]*\.[0-9.]*\) .*/\1/p' "$DRAFTMARK_PROC_NVIDIA/version" | sed -n 1p)
    check_driver_version
    set -- "$DRAFTMARK_PROC_NVIDIA"/gpus/*/information
    [ -r "$1" ] || die "no GPU: $DRAFTMARK_PROC_NVIDIA/gpus is empty"
    gpu=$(sed -n 's/^Model:[[:space:]]*//p' "$1")
  fi
}

# arch_runs_on ARCH NUMBER: whether code for sm_90a or compute_120 runs on a GPU whose capability is NUMBER (90).
arch_runs_on() {
  code=${1#*_}
  case $code in
    *a) [ "${code%a}" = "$2" ]; return ;;
  esac
  code=${code%f}
  [ "$code" -le "$2" ] || return 1
  case $1 in
    compute_*) return 0 ;;
  esac
  [ "${code%?}" = "${2%?}" ] # same major version
}

check_architecture() {
  number=$(echo "$capability" | tr -d .)
  case $number in
    '' | *[!0-9]*) die "nvidia-smi does not know the GPU's compute capability: $capability" ;;
  esac
  archs=$(cat "$here/ARCHS")
  for arch in $archs; do
    if arch_runs_on "$arch" "$number"; then return; fi
  done
  die "the GPU ($gpu) is sm_$number, and this bundle holds code for" $archs "only; build it with --//tools/cuda:archs=sm_$number"
}

# toolkit_libraries ROOT: the paths that the library may have in a toolkit.
toolkit_libraries() { printf '%s\n' "$1/lib64/$2" "$1/lib/$2" "$1/targets/x86_64-linux/lib/$2"; }

# All places outside the loader's, as src/cuda/cublaslt_library.cc has them.
toolkit_candidates() {
  for root in $DRAFTMARK_TOOLKITS; do toolkit_libraries "$root" "$1"; done
  if [ -n "${CUDA_HOME:-}" ]; then toolkit_libraries "$CUDA_HOME" "$1"; fi
  if [ -n "${CUDA_PATH:-}" ]; then toolkit_libraries "$CUDA_PATH" "$1"; fi
}

find_cublaslt() {
  found=$(find_library "$1")
  if [ -n "$found" ]; then
    echo "$found"
    return
  fi
  toolkit_candidates "$1" | while IFS= read -r candidate; do
    if [ -e "$candidate" ]; then
      echo "$candidate"
      break
    fi
  done
}

# Sets cublaslt to the library's version, as far as the name of its file tells it.
check_cublaslt() {
  library=$(find_cublaslt $CUBLASLT)
  if [ -n "$library" ]; then
    file=$(readlink -f "$library")
    cublaslt=${file##*.so.}
    return
  fi
  places="the system's libraries, LD_LIBRARY_PATH, $DRAFTMARK_TOOLKITS, CUDA_HOME and CUDA_PATH"
  for old in 12 11; do
    library=$(find_cublaslt libcublasLt.so.$old)
    [ -z "$library" ] ||
      die "cuBLASLt is too old: found $library, and no $CUBLASLT (CUDA 13) in $places"
  done
  die "cuBLASLt is missing: no $CUBLASLT (CUDA 13) in $places"
}

# Sets sanitizer.
find_sanitizer() {
  sanitizer=$(command -v compute-sanitizer) && return
  for toolkit in $DRAFTMARK_TOOLKITS; do
    sanitizer=$toolkit/bin/compute-sanitizer
    [ ! -x "$sanitizer" ] || return 0
  done
  die "compute-sanitizer is missing: it is neither in PATH nor in bin/ of $DRAFTMARK_TOOLKITS; it comes with the CUDA toolkit"
}
