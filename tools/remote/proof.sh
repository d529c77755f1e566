# What tools/remote/prove_* share: a temporary folder, clones, Bazels apart, a server of the cache; sourced by them.

fail() { echo "$(basename "$0"): $*" >&2; exit 2; }

# Sets work, which is removed at the end, with what runs in it.
prepare_proof() {
  work=$(mktemp -d)
  server=
  clones=
  trap finish_proof EXIT
  trap 'exit 2' INT TERM HUP
}

finish_proof() {
  result=$?
  for name in $clones; do stop_bazel "$name"; done
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  # Bazel writes its outputs without write permission.
  chmod -R u+w "$work" 2>/dev/null || true
  rm -rf "$work"
  exit $result
}

# clone NAME: HEAD, and what tools/setup has fetched.
clone() {
  git clone -q "$checkout" "$work/$1"
  for folder in .sources .cuda; do
    [ ! -d "$folder" ] || cp -a "$folder" "$work/$1"
  done
  clones="$clones $1"
}

# bazel_in NAME ARGUMENTS...: with folders of its own, and without the user's user.bazelrc.
bazel_in() {
  name=$1
  shift
  (cd "$work/$name" && exec bazel --output_user_root="$work/$name.bazel" --local_startup_timeout_secs=600 "$@")
}
stop_bazel() { bazel_in "$1" shutdown >/dev/null 2>&1 || true; }

# summarize LOG: sets hits, executed and remote from Bazel's "INFO: 40 processes: 3 remote cache hit, 20 internal, 17
# linux-sandbox."
summarize() {
  hits=0 executed=0 remote=0
  parts=$(sed -n 's/^INFO: [0-9]* process[es]*: \(.*\)\.$/\1/p' "$1" | tail -n 1 | tr ',' '\n' | sed 's/^ *//; s/ /:/')
  for part in $(echo "$parts" | tr ' ' '_'); do
    number=${part%%:*}
    case $part in
      *:remote_cache_hit) hits=$number ;;
      *:internal) ;;
      *:remote) remote=$number ;;
      *) executed=$((executed + number)) ;;
    esac
  done
}

free_port() {
  /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Sets nginx: an installed one, or that of Debian's package, unpacked and not installed, so that no service starts.
find_nginx() {
  nginx=$(PATH=$PATH:/usr/sbin command -v nginx) && return
  mkdir "$work/package"
  (cd "$work/package" && apt-get -qq -o APT::Sandbox::User=root download nginx >/dev/null && dpkg -x nginx_*.deb .) ||
    fail "needs nginx: apt-get install -y nginx (apt-get update first)"
  nginx=$work/package/usr/sbin/nginx
}

# Sets port and server. What Bazel asks of a cache is GET, HEAD and PUT; with WebDAV nginx has these.
start_nginx() {
  port=$(free_port)
  mkdir -p "$work/nginx/store" "$work/nginx/temporary"
  user=
  # Else its workers are somebody who cannot enter the folder.
  [ "$(id -u)" != 0 ] || user='user root;'
  cat >"$work/nginx/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $work/nginx/pid;
error_log $work/nginx/error.log;
$user
events { worker_connections 512; }
http {
  access_log $work/nginx/access.log;
  client_body_temp_path $work/nginx/temporary;
  proxy_temp_path $work/nginx/temporary;
  fastcgi_temp_path $work/nginx/temporary;
  uwsgi_temp_path $work/nginx/temporary;
  scgi_temp_path $work/nginx/temporary;
  client_max_body_size 0;
  server {
    listen 127.0.0.1:$port;
    root $work/nginx/store;
    location / {
      dav_methods PUT;
      create_full_put_path on;
    }
  }
}
CONF
  "$nginx" -p "$work/nginx" -e "$work/nginx/error.log" -c "$work/nginx/nginx.conf" 2>"$work/nginx/stderr" &
  server=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ ! -s "$work/nginx/pid" ] || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.5
  done
  cat "$work/nginx/stderr" "$work/nginx/error.log" >&2 || true
  fail "nginx did not start"
}
