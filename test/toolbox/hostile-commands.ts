/**
 * Commands that try to leave the sandbox. Each does something only to canaries and to names that hold the mark of the
 * world, or writes back the value that is there, so that one that escapes does no harm.
 */
import { type HostileWorld, STRAYS } from './hostile-world.ts'

export interface HostileCommand {
  readonly command: string
  readonly kind: 'read' | 'write' | 'network' | 'privilege' | 'survive'
  /** A number in the command lines of the processes that are to survive. */
  readonly mark?: string
  /** Succeeds without a sandbox, on any machine with bash: the proof that its success would be seen. */
  readonly control?: true
}

export function hostileCommands(world: HostileWorld): readonly HostileCommand[] {
  return [...reads(world), ...writes(world), ...network(world), ...privileges(world), ...survivors(world)]
}

/** Quoted so that an error message with the command in it does not count. */
const WON = "&& echo ESC''APED"

function reads({ outside, folder }: HostileWorld): readonly HostileCommand[] {
  const up = '../'.repeat(folder.path.split('/').length)
  const ways = [
    (path: string) => `cat ${path}/secret`,
    (path: string) => `while read -r line || [ -n "$line" ]; do echo "$line"; done < ${path}/secret`,
    (path: string) => `cat ${up}${path.slice(1)}/secret`,
    (path: string) => `cd ${path} && cat secret`,
    (path: string) => `cp ${path}/secret copied && cat copied`,
    (path: string) => `ln -sf ${path}/secret linked; cat linked`,
    (path: string) => `rm -f hard; ln ${path}/secret hard && cat hard`,
    (path: string) => `dd if=${path}/secret 2>/dev/null`,
    (path: string) => `tar cf - ${path} 2>/dev/null | tar xOf -`,
    (path: string) => `cat /proc/self/root${path}/secret /proc/1/root${path}/secret`,
    (path: string) => `find ${path} -type f -exec cat {} +`,
    (path: string) => `bash -c '. ${path}/secret' 2>&1`,
  ]
  const files = outside.flatMap((path) => ways.map((way) => ({ kind: 'read', command: way(path) }) as const))
  return [
    ...files.map((each) => ({ ...each, control: true }) as const),
    ...outside.map(
      (_, index) => ({ kind: 'read', command: `cat link${index}/secret`, control: true }) as const,
    ),
    ...[
      'cat /proc/*/environ | tr "\\0" "\\n"',
      'cat /proc/1/environ /proc/$PPID/environ | tr "\\0" "\\n"',
      'for p in /proc/[0-9]*; do tr "\\0" "\\n" < $p/environ; done',
    ].map((command) => ({ kind: 'read', command, control: true }) as const),
    ...[
      `test -s /etc/shadow ${WON}`,
      `test -s /etc/gshadow ${WON}`,
      `test -d /etc/ssl/private && ls /etc/ssl/private && ls -d /etc/ssl/private ${WON}`,
      `ls ~/.ssh /root/.ssh /home/*/.ssh 2>/dev/null | grep . ${WON}`,
      `ls -A /root /home/* 2>/dev/null | grep . ${WON}`,
      `ls /var/run/docker.sock /run/docker.sock /run/systemd /run/user 2>/dev/null | grep . ${WON}`,
      `ls -d /sys/kernel /sys/class ${WON}`,
      `head -c 1 /dev/mem /dev/kmem /dev/sda /dev/vda /dev/nvme0n1 2>/dev/null | grep . ${WON}`,
      `head -c 64 /proc/kcore 2>/dev/null | grep -a ELF ${WON}`,
      `ls -A /tmp | grep -v "^holdfast-commands-" | grep . ${WON}`,
      `ipcs -a 2>/dev/null | grep '^0x' ${WON}`,
      `history | grep . ${WON}`,
    ].map((command) => ({ kind: 'read', command }) as const),
  ]
}

function writes({ outside, mark }: HostileWorld): readonly HostileCommand[] {
  const ways = [
    (path: string) => `echo changed > ${path}/secret`,
    (path: string) => `echo more >> ${path}/secret`,
    (path: string) => `touch ${path}/new`,
    (path: string) => `rm -f ${path}/secret`,
    (path: string) => `mv ${path}/secret ${path}/moved`,
    (path: string) => `mkdir -p ${path}/made/deep`,
    (path: string) => `ln -s /etc ${path}/planted`,
    (path: string) => `cp /bin/ls ${path}/copy`,
    (path: string) => `truncate -s 0 ${path}/secret`,
    (path: string) => `ln -sf ${path} through; echo changed > through/secret`,
    (path: string) => `cd ${path} && echo changed > secret`,
  ]
  return [
    ...outside.flatMap((path) =>
      ways.map((way) => ({ kind: 'write', command: way(path), control: true }) as const),
    ),
    ...outside.map(
      (_, index) =>
        ({ kind: 'write', command: `echo changed > link${index}/secret`, control: true }) as const,
    ),
    // Memory of the sandbox itself does not count: only what the world finds outside.
    ...STRAYS.map((place) => ({ kind: 'write', command: `echo x > ${place}/${mark}` }) as const),
  ]
}

function network({ port, socket, secret }: HostileWorld): readonly HostileCommand[] {
  const python = (code: string) => `python3 -c '${code}'`
  return [
    { kind: 'network', command: `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`, control: true },
    { kind: 'network', command: `exec 3<>/dev/tcp/localhost/${port} && cat <&3`, control: true },
    ...[
      `curl -s --max-time 5 telnet://127.0.0.1:${port} </dev/null`,
      `curl -s --max-time 5 http://127.0.0.1:${port}/`,
      `curl -s --max-time 5 --unix-socket ${socket} http://x/`,
      `exec 3<>/dev/udp/127.0.0.1/${port} && echo x >&3; exec 4<>/dev/tcp/127.0.0.1/${port} && cat <&4`,
      python(`import socket; s=socket.create_connection(("127.0.0.1",${port}),5); print(s.recv(99))`),
      python(`import socket; s=socket.socket(socket.AF_UNIX); s.connect("${socket}"); print(s.recv(99))`),
      python(`import socket; s=socket.socket(socket.AF_UNIX); s.connect("\\0${secret}"); print(1)`),
      python(`import socket; s=socket.create_connection(("::ffff:127.0.0.1",${port}),5); print(s.recv(99))`),
      python(`import socket; s=socket.socket(socket.AF_INET,socket.SOCK_RAW,1); print("ESC"+"APED")`),
      python(`import socket; s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW); print("ESC"+"APED")`),
      `ls /sys/class/net 2>/dev/null | grep -v '^lo$' | grep . ${WON}`,
      `tail -n +3 /proc/net/dev | grep -v ' *lo:' | grep . ${WON}`,
      `tail -n +2 /proc/net/route | grep . ${WON}`,
    ].map((command) => ({ kind: 'network', command }) as const),
  ]
}

function privileges({ outside, mark }: HostileWorld): readonly HostileCommand[] {
  const same = (path: string) => `v=$(cat ${path}) && printf %s "$v" > ${path} ${WON}`
  return [
    same('/proc/sys/kernel/core_pattern'),
    same('/proc/sys/kernel/hostname'),
    same('/proc/sys/vm/swappiness'),
    same('/proc/sys/kernel/modprobe'),
    same('/proc/sys/user/max_user_namespaces'),
    same('/proc/1/oom_score_adj'),
    `find /proc/sys -type f -writable 2>/dev/null | while read -r f; do : 2>/dev/null >> "$f" && echo "$f"; done | grep . ${WON}`,
    `test -w /proc/sysrq-trigger ${WON}`,
    `mount --bind / /mnt ${WON}`,
    `mount -t tmpfs none /tmp ${WON}`,
    `mount -o remount,rw /usr ${WON}`,
    `mount -o remount,rw / ${WON}`,
    `mount -t proc proc /proc ${WON}`,
    `umount /tmp ${WON}`,
    `umount -l /proc ${WON}`,
    `unshare -Ur true ${WON}`,
    `unshare -m true ${WON}`,
    `unshare -Urm sh -c 'mount --bind / /mnt' ${WON}`,
    `nsenter -t 1 -m -p true ${WON}`,
    `nsenter -t 1 -a cat ${outside[0] ?? ''}/secret`,
    `chroot / true ${WON}`,
    `mkdir -p r && chroot r true ${WON}`,
    `mknod disk b 8 0 ${WON}`,
    `mknod /tmp/mem c 1 1 ${WON}`,
    `chown 12345 . ${WON}`,
    `hostname ${mark} ${WON}`,
    `date -s '2001-01-01' >/dev/null ${WON}`,
    `kill -0 -1 2>/dev/null; for p in $(seq 2 400); do kill -0 $p 2>/dev/null && tr "\\0" " " < /proc/$p/cmdline; done | grep -aE '[v]itest|[h]oldfast.config' ${WON}`,
    `kill -CONT 1; ls /proc | grep -c '^[0-9]' | awk '$1 > 20 { print "x" }' | grep x ${WON}`,
    `grep -E '^Cap(Eff|Prm|Bnd|Amb):' /proc/self/status | grep -v 0000000000000000 ${WON}`,
    `grep -E '^NoNewPrivs:' /proc/self/status | grep 0 ${WON}`,
    `su -c true root </dev/null ${WON.replace('&&', '&& [ "$(id -u)" != 0 ] &&')}`,
    `sudo -n true ${WON}`,
    `python3 -c 'import os; os.setuid(1)' 2>/dev/null ${WON}`,
    `bwrap --dev-bind / / cat ${outside[0] ?? ''}/secret`,
    `ls -l /proc/self/fd | awk '{ print $9, $10, $11 }' | grep -vE '^ |^[012] |^[0-9]+ -> (/dev/null|/proc/[0-9]+/fd|pipe:.*)$' | grep . ${WON}`,
    `echo x > /dev/tty ${WON}`,
    `dmesg 2>/dev/null | grep . ${WON}`,
    `insmod x.ko ${WON}`,
    `ls -d /proc/1/root/root/* /proc/1/cwd/root/* 2>/dev/null | grep . ${WON}`,
    `grep -E ' /(usr|etc/[a-z]+) ' /proc/self/mounts | grep -v ' ro,' ${WON}`,
  ].map((command) => ({ kind: 'privilege', command }) as const)
}

/** Each is alive for long after its shell, unless it is killed with it. The last ones are stopped by their time limit. */
function survivors({ mark }: HostileWorld): readonly HostileCommand[] {
  const commands = [
    (long: string) =>
      `rm -f away; setsid bash -c 'touch away; ${long}; :' & while [ ! -e away ]; do sleep 0.02; done`,
    (long: string) => `nohup ${long} & disown`,
    (long: string) => `(${long} &)`,
    (long: string) => `((setsid ${long} &) &)`,
    (long: string) => `setsid setsid ${long} >/dev/null 2>&1 &`,
    (long: string) => `trap '' HUP INT TERM; ${long} &`,
    (long: string) => `bash -c "trap '' TERM HUP; ${long}" & disown -a`,
    (long: string) => `coproc ${long}`,
    (long: string) => `setsid -f ${long}`,
    (long: string) => `python3 -c 'import os
if os.fork()==0:
  os.setsid()
  if os.fork()==0:
    os.execvp("sleep","${long}".split())'`,
    (long: string) => `f() { [ "$1" -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; ${long}; }; f 4 &`,
    (long: string) => `trap '${long} &' EXIT; exit 0`,
    (long: string) => `trap '' TERM; setsid bash -c "trap '' TERM; ${long}" & ${long}`,
    (long: string) => `trap 'setsid ${long} & ${long}' TERM; while :; do sleep 0.1; done`,
    (long: string) => `while :; do ${long} & sleep 0.1; done`,
    (long: string) => `yes | head -c 20000000; setsid -f ${long} > /dev/null; ${long}`,
  ]
  return commands.map((command, index) => {
    const own = `${mark}${10 + index}`
    const each = { kind: 'survive', mark: own, command: command(`sleep ${own}`) } as const
    return index === 0 ? { ...each, control: true } : each
  })
}
