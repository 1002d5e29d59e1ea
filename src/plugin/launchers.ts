/** Commands that run, write or change more than their name says, and so are not covered by a `*` in a pattern. */

/** Run other commands, take code from their arguments or their input, or change the shell. */
const LAUNCHERS: ReadonlySet<string> = new Set(
  [
    'sh bash dash ash zsh ksh mksh fish csh tcsh rbash busybox toybox pwsh powershell cmd',
    'env sudo doas su pkexec runuser gosu setpriv capsh chroot unshare nsenter bwrap firejail',
    'xargs parallel nohup setsid timeout time nice ionice chrt taskset stdbuf unbuffer script watch entr flock',
    'strace ltrace gdb lldb valgrind perf prlimit setarch linux64 catchsegv run-parts start-stop-daemon',
    'ssh scp sftp rsh rsync nc ncat netcat socat telnet ftp at batch crontab systemd-run systemctl launchctl',
    'x86_64 i386 i486 i586 i686 linux32 uname26 fakeroot fakechroot proot screen tmux dtach abduco ssh-agent',
    'dbus-run-session dbus-launch xvfb-run systemd-nspawn machinectl cgexec numactl choom eatmydata faketime',
    'sg newgrp runcon torsocks proxychains watchexec nodemon concurrently hyperfine direnv nix nix-shell ld.so',
    'docker podman nerdctl kubectl lxc vagrant open xdg-open osascript dbus-send',
    'cross-env cross-env-shell dotenv env-cmd caffeinate dumb-init tini chronic cpulimit sem rlwrap gdbserver daemonize arch',
    'npx pnpx bunx uvx pipx ts-node tsx make gmake bmake rake just task',
    'awk gawk mawk nawk sed gsed ed ex vi vim nvim view emacs nano dc m4 expect tclsh wish gnuplot',
    'sqlite3 psql mysql mongosh redis-cli tar bsdtar cpio uniq xxd tex latex pdflatex',
    'eval exec source . command builtin enable hash trap alias unalias export declare typeset local readonly',
    'set shopt unset read mapfile readarray getopts let wait bind complete compgen compopt fc history',
    'cd pushd popd dirs suspend disown bg fg jobs coproc',
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
  poetry: 'run shell',
  pipenv: 'run shell',
  pdm: 'run',
  hatch: 'run shell',
  rye: 'run',
  pixi: 'run exec shell',
  conda: 'run',
  mamba: 'run',
  micromamba: 'run',
  bundle: 'exec',
  composer: 'exec',
  rustup: 'run',
  mise: 'exec x run',
  asdf: 'exec',
  pyenv: 'exec',
  rbenv: 'exec',
  nodenv: 'exec',
  ip: 'netns vrf',
  brew: 'sh ruby',
  apt: '',
  'apt-get': '',
  dotnet: 'run exec script',
}

/** Options with the name of a command, of whichever command. */
const CODE_OPTION =
  /^--?(?:exec|ok|toolexec|filter=|compress-program|use-compress|to-command|rsh|upload-pack|receive-pack|open-files-in|ext-diff|script-shell|node-options|use-askpass|unzip-command|wrapper|pre(?:=|$))/

/** Such options of single commands, also where they are abbreviated. */
const CODE_OPTIONS: Readonly<Record<string, RegExp>> = {
  split: /^--f/,
  sort: /^--co/,
  rg: /^--(?:pre|hostname-bin)/,
  fd: /^-[A-Za-z]*[xX]/,
  man: /^(?:-[A-Za-z]*[PH]|--pa|--ht)/,
  git: /^(?:-[A-Za-z]*O|--(?:op|ext|exe|upl|rec|conf))/,
  zip: /^-[A-Za-z]*T/,
  cargo: /^--conf/,
  // Bash evaluates the index in the name of a variable.
  printf: /^-v/,
  test: /^-[vR]/,
}
/** Of `git clone` alone: `git push -u` is harmless. */
const CLONE_OPTION = /^-[A-Za-z]*[cu]/

/** Code as an option of an interpreter: `-c`, `-e`, `-pe`, `-r`, `-M`, `--eval`. */
const INTERPRETED =
  /^(?:-[A-Za-z]*[ceEprRM]|--(?:eval|print|require|import|loader|experimental-loader|run|exec))/

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
export function isLauncher([name = '', ...rest]: readonly string[]): boolean {
  const plain = plainName(name)
  if ([plain, baseName(name), name].some((each) => LAUNCHERS.has(each))) return true
  if (/^ld[-.\w]*\.so\b/.test(baseName(name))) return true
  const launching = Object.hasOwn(SUBCOMMANDS, plain) ? SUBCOMMANDS[plain]?.split(' ') : undefined
  return launching !== undefined && subcommandsIn(rest).some((word) => launching.includes(word))
}

/** Words that could be the subcommand: those with nothing but options and their possible values before them. */
function subcommandsIn(words: readonly string[]): readonly string[] {
  const isBefore = (word: string, at: number) => isOption(word) || (at > 0 && isOption(words[at - 1] ?? ''))
  const end = words.findIndex((word, at) => !isBefore(word, at))
  return words.slice(0, end === -1 ? words.length : end + 1).filter((word) => !isOption(word))
}

export function isOption(word: string): boolean {
  return /^[-+]/.test(word)
}

/** True if an option may carry code or the name of a command, or hides the subcommand. */
export function hasCodeOption([name = '', ...rest]: readonly string[]): boolean {
  const plain = plainName(name)
  if (hasSubcommands(name) && /^[-+](?!-?(?:version|help|v|h)$)/.test(rest[0] ?? '')) return true
  const own = Object.hasOwn(CODE_OPTIONS, plain) ? CODE_OPTIONS[plain] : undefined
  const others = [
    ...(INTERPRETERS.has(plain) ? [INTERPRETED] : []),
    ...(plain === 'git' && rest[0] === 'clone' ? [CLONE_OPTION] : []),
  ]
  return rest.some((word) => [CODE_OPTION, own, ...others].some((code) => code?.test(word)))
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
