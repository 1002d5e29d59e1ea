/** Commands that run, write or change more than their name says, and so are not covered by a `*` in a pattern. */

/** Run other commands, take code from their arguments or their input, or change the shell. */
const LAUNCHERS: ReadonlySet<string> = new Set(
  [
    'sh bash dash ash zsh ksh mksh fish csh tcsh rbash busybox toybox pwsh powershell cmd',
    'env sudo doas su pkexec runuser gosu setpriv capsh chroot unshare nsenter bwrap firejail',
    'xargs parallel nohup setsid timeout time nice ionice chrt taskset stdbuf unbuffer script watch entr flock',
    'strace ltrace gdb lldb valgrind perf prlimit setarch linux64 catchsegv run-parts start-stop-daemon',
    'ssh scp sftp rsh rsync nc ncat netcat socat telnet ftp at batch crontab systemd-run systemctl launchctl',
    'docker podman nerdctl kubectl lxc vagrant open xdg-open osascript dbus-send',
    'npx pnpx bunx uvx pipx ts-node tsx make gmake bmake rake just task',
    'awk gawk mawk nawk sed gsed ed ex vi vim nvim view emacs nano dc m4 expect tclsh wish gnuplot',
    'sqlite3 psql mysql mongosh redis-cli tar bsdtar cpio uniq xxd tex latex pdflatex',
    'eval exec source . command builtin enable hash trap alias unalias export declare typeset local readonly',
    'set shopt unset read mapfile readarray getopts let wait bind complete compgen compopt fc history',
    'cd pushd popd dirs suspend disown bg fg coproc',
  ].flatMap((row) => row.split(' ')),
)

/** Take code from their input if they have no argument. */
const INTERPRETERS: ReadonlySet<string> = new Set(
  'node nodejs deno bun python pypy perl ruby php lua luajit java swift r rscript julia irb ghci'.split(' '),
)

/** The subcommand decides: it has to be written out, and these launch. */
const SUBCOMMANDS: Readonly<Record<string, string>> = {
  git: 'submodule bisect filter-branch rebase difftool mergetool config daemon shell hook maintenance instaweb send-email svn p4 credential fast-import upload-pack receive-pack',
  npm: 'exec x explore init create config set edit',
  pnpm: 'exec dlx create config',
  yarn: 'exec dlx create node config',
  bun: 'x exec create',
  deno: 'eval run repl task install',
  go: 'run generate tool env',
  cargo: 'install config',
  gh: 'alias api extension codespace config',
  pip: 'config',
  uv: 'run tool',
  brew: 'sh ruby',
  apt: '',
  'apt-get': '',
  dotnet: 'run exec script',
}

/** All of their options only read. */
const HARMLESS: ReadonlySet<string> = new Set(
  [
    'ls cat echo pwd head tail wc stat du df basename dirname realpath readlink cut tr nl cmp comm diff',
    'md5sum sha1sum sha224sum sha256sum sha384sum sha512sum cksum seq sleep true false whoami id uname groups',
    'grep egrep fgrep printenv tac rev fold paste expand od which',
  ].flatMap((row) => row.split(' ')),
)

/** The name without folder and case: some file systems find `/usr/bin/SUDO`. */
function baseName(command: string): string {
  return command
    .slice(command.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/\.exe$/, '')
}

/** The same without a version: `python3.12` is `python`. */
export function plainName(command: string): string {
  return baseName(command).replace(/(?<=[a-z])[-.]?\d+(?:\.\d+)*$/, '')
}

/** True if nothing but the same words may match: no `*` counts. */
export function isLauncher([name = '', subcommand = '']: readonly string[]): boolean {
  const plain = plainName(name)
  if (LAUNCHERS.has(plain) || LAUNCHERS.has(baseName(name)) || LAUNCHERS.has(name)) return true
  const launching = Object.hasOwn(SUBCOMMANDS, plain) ? SUBCOMMANDS[plain] : undefined
  return launching !== undefined && launching.split(' ').includes(subcommand)
}

/** True if it reads code from its input: the words do not say what it does. */
export function readsCode(words: readonly string[]): boolean {
  return words.length === 1 && INTERPRETERS.has(plainName(words[0] ?? ''))
}

export function hasSubcommands(command: string): boolean {
  return Object.hasOwn(SUBCOMMANDS, plainName(command))
}

export function hasHarmlessOptions(command: string): boolean {
  return HARMLESS.has(command)
}
