/** The commands and options of `holdfast`, and their help. */

import { bold, joinLines, prose, type Styled, styled } from 'holdfast/terminal'
import type { CommandForm, OptionForm } from './arguments.ts'

const agent: OptionForm = { takes: 'NAME', short: 'a', help: 'which agent of the config' }
const model: OptionForm = {
  takes: 'MODEL',
  short: 'm',
  help: 'such as openai/gpt-4.1-mini, or reflex, which is built in',
}
/** Reflex plans no task. */
const languageModel: OptionForm = {
  takes: 'MODEL',
  short: 'm',
  help: 'such as openai/gpt-4.1-mini; reflex cannot plan a task',
}
const mcp: OptionForm = { takes: 'FILE', help: 'MCP servers of this JSON file, for their tools' }
const json: OptionForm = { help: 'one JSON document, for programs' }
/** Of commands that read conversations. */
const of: OptionForm = {
  takes: 'NAME',
  short: 'a',
  help: 'an agent of the config, task, or research',
}
/** The owner of conversations that callers of a server have. */
const owner: Readonly<Record<string, OptionForm>> = {
  tenant: { takes: 'TENANT', help: 'with --actor: conversations of that caller; else your own' },
  actor: { takes: 'ACTOR', help: 'a caller of holdfast serve, with --tenant' },
}

export const SHARED: Readonly<Record<string, OptionForm>> = {
  config: { takes: 'FILE', help: 'the config; else holdfast.config.ts here or above' },
  'no-color': { help: 'no colours; NO_COLOR does the same' },
  help: { short: 'h', help: 'this text' },
  version: { short: 'V', help: 'the version' },
}

/** The compiler asks for a loader of every command, in `main.ts`. */
export type CommandName =
  | 'chat'
  | 'run'
  | 'task'
  | 'research'
  | 'mcp'
  | 'acp'
  | 'sessions'
  | 'show'
  | 'state'
  | 'trace'
  | 'serve'
  | 'erase'

export const COMMANDS: readonly CommandForm<CommandName>[] = [
  {
    name: 'chat',
    summary: 'talk with an agent in this terminal',
    usage: '[--agent NAME] [--context ID] [--model MODEL] [--break TOOL] [--mcp FILE]',
    about:
      'Opens the last conversation. Press Ctrl-C to cancel the turn, again to leave, or Ctrl-D to leave.\nMessages that you type meanwhile are sent when the turn has ended. Type /help for the commands.',
    words: { least: 0, most: 0 },
    options: {
      agent,
      context: { takes: 'ID', short: 'c', help: 'which conversation; else the last one' },
      model,
      break: { takes: 'TOOL', many: true, help: 'stop before this tool, or after:TOOL' },
      mcp,
    },
    examples: [
      ['holdfast chat', 'open the last conversation'],
      ['holdfast chat --context trip', 'a conversation of its own'],
      ['holdfast chat --agent research', 'questions to the documents of holdfast research add'],
      ['holdfast chat --break pay', 'look at each call of pay, and edit it, before it runs'],
    ],
  },
  {
    name: 'run',
    summary: 'one turn, for scripts',
    usage: '"MESSAGE" | - [--context ID] [--json]',
    about:
      'The text goes to standard output, progress to standard error.\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 config, model or store unusable, 4 stopped by a limit,\n5 waits for an answer, 6 waits for access, 130 cancelled, 143 paused by SIGTERM.',
    words: { least: 0, most: Number.POSITIVE_INFINITY },
    options: {
      agent,
      context: { takes: 'ID', short: 'c', help: 'which conversation; else a new one' },
      model,
      json: { help: 'every event as a line of JSON; the last has type "outcome"' },
      answer: { takes: 'ID=VALUE', many: true, help: 'answer a request; VALUE alone if only one waits' },
      continue: { help: 'continue where the last turn stopped' },
      mcp,
    },
    examples: [
      ['holdfast run "List my notes"', 'a new conversation'],
      ['git diff | holdfast run -', 'the message from standard input'],
      ['holdfast run --context trip "And by train?"', 'one more turn of a conversation'],
      ["holdfast run --context trip --answer 'call_1/approval=yes'", 'approve its request'],
      ['holdfast run --json "Hello" | tail -n 1', 'only the outcome'],
    ],
  },
  {
    name: 'task',
    summary: 'plan a task, carry it out with tools, and verify it',
    usage:
      '"TASK" | - | --continue [ID] ["MESSAGE" | --answer VALUE] [--cwd DIR] [--criterion NAME=COMMAND] [--policy FILE] [--mcp FILE] [--json]',
    about:
      'The model gets the tools of the toolbox for DIR. Changes and commands wait for your approval, unless the policy\nallows them. Press Ctrl-C to stop the task; --continue goes on with it, also after a crash.\nWith a message, --continue begins a further round: a new plan that knows the results so far.\nThe answer goes to standard output, progress to standard error.\nExit codes: 0 verified, 1 failed, 2 wrong usage, 3 config, model or store unusable, 4 stopped by a limit,\n5 waits for an answer, 7 not verified, 8 no verdict, 130 stopped by Ctrl-C.',
    words: { least: 0, most: Number.POSITIVE_INFINITY },
    options: {
      cwd: { takes: 'DIR', help: 'the working folder; else this one' },
      criterion: { takes: 'NAME=COMMAND', many: true, help: 'must exit with 0, whatever the model claims' },
      policy: { takes: 'FILE', help: 'JSON with rules that allow, ask or deny calls' },
      mcp,
      'no-planning': { help: 'no plan, and no second attempt' },
      answer: {
        takes: 'ID=VALUE',
        many: true,
        help: 'with --continue: answer a request; VALUE alone if only one waits',
      },
      continue: { help: 'go on with the task ID, else with the last one; with a message, a further round' },
      agent: { takes: 'NAME', short: 'a', help: 'an agent of the config, for its model, tools and plugins' },
      model: languageModel,
      json: { help: 'every event as a line of JSON; the last has type "outcome"' },
    },
    examples: [
      ['holdfast task "Fix the failing test" --criterion "tests=npm test"', 'until the tests pass'],
      ['holdfast task --cwd ../site "Translate README.md"', 'in another folder'],
      ['holdfast task --continue', 'go on where the last task stopped'],
      ['holdfast task --continue --answer yes', 'approve its request, from a script'],
      ['holdfast task --continue "Now in French"', 'a further round of the last task'],
    ],
  },
  {
    name: 'research',
    summary: 'ask your documents, with citations; add, list, remove',
    usage:
      '"QUESTION" | - | add FILES… | list | remove ID [--corpus FILE] [--context ID] [--web NAME] [--json]',
    about:
      'Searches your documents, and the web if they have nothing or you ask for it. Without a key the answer quotes sentences.\nThe answer and its sources go to standard output, progress to standard error.\nadd takes PDF, DOCX, HTML, Markdown and text files, and those of folders. Unchanged files are not read again. Press Ctrl-C\nto stop; the same command goes on.\nExit codes: 0 done, 1 failed, or a document was skipped or not found, 2 wrong usage, 3 config, model, store or corpus\nunusable, 4 stopped by a limit, 5 asks back (reply with --context), 130 stopped by Ctrl-C.',
    words: { least: 0, most: Number.POSITIVE_INFINITY },
    options: {
      corpus: {
        takes: 'FILE',
        help: 'the file of the corpus; else that of the config, or .holdfast/corpus.db',
      },
      context: { takes: 'ID', short: 'c', help: 'which conversation; else a new one' },
      web: { takes: 'NAME', help: 'searxng, brave, tavily, or one of the config' },
      continue: { help: 'go on with a question that was interrupted' },
      agent: { takes: 'NAME', short: 'a', help: 'an agent of the config, for its model' },
      model,
      json: {
        help: 'every event as a line of JSON, the last has type "outcome"; of add, list, remove the result',
      },
    },
    examples: [
      ['holdfast research add papers/ notes.md', 'a folder and a file'],
      ['holdfast research "How deep is the harbour?"', 'a new conversation'],
      ['holdfast research --context tides "And at low tide?"', 'one more question of a conversation'],
      ['holdfast research list', 'the documents with their ids'],
      ['holdfast research remove 3f9a0c1d2e4b5a67', 'by its id'],
    ],
  },
  {
    name: 'mcp',
    summary: 'serve an agent to an MCP client',
    usage: '[CONFIG] [--agent NAME] [--model MODEL]',
    about:
      'Speaks MCP on standard input and output, until the client closes them. The client gets the tools send_message\nand answer_request; conversations are kept, as those of chat and run.',
    words: { least: 0, most: 1 },
    options: { agent, model, mcp },
    examples: [
      ['holdfast mcp', 'the agent of the config here or above'],
      ['holdfast mcp my.config.ts --agent site', 'an agent of another config'],
    ],
  },
  {
    name: 'acp',
    summary: 'serve the task agent to an editor',
    usage: '[CONFIG] [--agent NAME] [--model MODEL] [--cwd DIR] [--policy FILE] [--mcp FILE]',
    about:
      'Speaks the Agent Client Protocol on standard input and output, until the editor closes them. The tools work in\nthe folder of the session. Conversations are kept: the editor can load a session, and its turn goes on.',
    words: { least: 0, most: 1 },
    options: {
      agent: { takes: 'NAME', short: 'a', help: 'an agent of the config instead of the task agent' },
      model: { ...languageModel, help: 'such as openai/gpt-4.1-mini; reflex only with --agent' },
      cwd: { takes: 'DIR', help: 'the folder of every session, in place of the one that the editor names' },
      policy: { takes: 'FILE', help: 'JSON with rules that allow, ask or deny calls' },
      mcp,
    },
    examples: [
      ['holdfast acp --model openai/gpt-4.1-mini', 'the task agent'],
      ['holdfast acp --agent site', 'an agent of the config'],
    ],
  },
  {
    name: 'sessions',
    summary: 'list conversations',
    usage: '[--agent NAME] [--tenant TENANT --actor ACTOR] [--json]',
    words: { least: 0, most: 0 },
    options: { agent: of, ...owner, json },
    examples: [
      ['holdfast sessions', 'the most recent first'],
      ['holdfast sessions --tenant acme --actor ann', 'of a caller of holdfast serve'],
    ],
  },
  {
    name: 'show',
    summary: 'print a conversation',
    usage: 'ID [--json]',
    words: { least: 1, most: 1 },
    options: { agent: of, ...owner, json },
    examples: [
      ['holdfast show main', 'with tools, outcomes and tokens'],
      ['holdfast show tides', 'also of task and research'],
      ['holdfast show site:main --json', 'by its full name'],
    ],
  },
  {
    name: 'state',
    summary: 'print active things, and where ids came from',
    usage: 'ID [--json]',
    about:
      'Prints the active things with their expiry, and why the ids of the last calls were accepted.\nWrite ~state as the ID to see your selections for all conversations.',
    words: { least: 1, most: 1 },
    options: { agent: of, ...owner, json },
    examples: [
      ['holdfast state main', 'the active things of its agent'],
      ['holdfast state "~state"', 'your selections'],
    ],
  },
  {
    name: 'trace',
    summary: 'draw a turn: model calls, tools and their times',
    usage: 'ID [--turn N | all] [--follow] [--json]',
    about:
      'A line for each model call, tool, question and change of a hook, with a bar for its time; sub-agents and the\nnodes of graphs are below their calls. Nothing is run or changed.',
    words: { least: 1, most: 1 },
    options: {
      agent: of,
      ...owner,
      turn: { takes: 'N', help: 'which turn, or all; else the newest' },
      follow: { short: 'f', help: 'print each step of a running turn when it ends, then draw the turn' },
      json: { help: 'one JSON document, for programs; with --follow, a line for each entry' },
    },
    examples: [
      ['holdfast trace main', 'the newest turn'],
      ['holdfast trace main --turn 3', 'an earlier one'],
      ['holdfast trace main --follow', 'watch a turn of another terminal'],
    ],
  },
  {
    name: 'serve',
    summary: 'the agents over HTTP',
    usage: '[CONFIG] [--port PORT] [--host ADDRESS] [--watch] [--json]',
    about:
      'Listens on 127.0.0.1 unless the config authenticates callers; conversations are those of chat and run.\nWith documents of holdfast research add, or a corpus in the config, it also serves research: POST /chat.\nCtrl-C or SIGTERM stops after the calls under way, a second one at once. See docs/guide/http.md',
    words: { least: 0, most: 1 },
    options: {
      port: { takes: 'PORT', short: 'p', help: 'which port; else 4700, or the next free one' },
      host: { takes: 'ADDRESS', help: 'which address to listen on; else 127.0.0.1' },
      watch: { help: 'start again when the config, a module of it, or a file of prompts/ changes' },
      json: { help: 'the start, every request and restart as a line of JSON' },
    },
    examples: [
      ['holdfast serve', 'the config here or above, or the built-in agent'],
      ['holdfast serve --port 8080 --json', 'for programs'],
      ['holdfast serve --host 0.0.0.0', 'for other machines; needs serve.authenticate in the config'],
    ],
  },
  {
    name: 'erase',
    summary: 'remove a conversation for good',
    usage: 'ID [--yes]',
    words: { least: 1, most: 1 },
    options: { agent: of, ...owner, yes: { short: 'y', help: 'do not ask' } },
    examples: [['holdfast erase trip', 'asks first']],
  },
]

export function mainHelp(version: string): Styled {
  return joinLines([
    styled`holdfast ${version} — agents that hold on to their state\n`,
    bold('Commands'),
    ...table(COMMANDS.map(({ name, summary }) => [`holdfast ${name}`, summary])),
    styled`\n${bold('Options')}`,
    ...table(optionRows(SHARED)),
    styled`\n${bold('Examples')}`,
    ...table([
      ['holdfast chat', 'works at once: a small agent is built in'],
      ['holdfast run "List my notes"', 'one turn, for scripts'],
      ['holdfast research add papers/', 'then: holdfast research "How deep is the harbour?"'],
      ['holdfast run --help', 'more about a command'],
    ]),
    styled`\nWithout a key, the built-in model reflex works by rules. For a language model, set OPENAI_API_KEY and run npm install`,
    styled`@ai-sdk/openai, or do so for another vendor: see docs/guide/models.md`,
    styled`Conversations are kept in .holdfast beside the config or here, or in HOLDFAST_HOME.`,
  ])
}

export function commandHelp(form: CommandForm): Styled {
  const { name, usage, summary, about, options, examples } = form
  return joinLines([
    styled`${bold(`holdfast ${name}`)} ${usage}\n`,
    styled`${summary[0]?.toUpperCase() ?? ''}${summary.slice(1)}.`,
    ...(about === undefined ? [] : [prose(about)]),
    styled`\n${bold('Options')}`,
    ...table([...optionRows(options), ...optionRows(SHARED)]),
    styled`\n${bold('Examples')}`,
    ...table(examples),
  ])
}

function optionRows(options: Readonly<Record<string, OptionForm>>): [string, string][] {
  return Object.entries(options).map(([name, { takes, short, help }]) => [
    `${short === undefined ? '    ' : `-${short}, `}--${name}${takes === undefined ? '' : ` ${takes}`}`,
    help,
  ])
}

function table(rows: readonly (readonly [string, string])[]): Styled[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => styled`  ${left.padEnd(width)}  ${right}`)
}
