/** The example of a model and its tools in a loop: killed with -9 in one process, finished by another. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { terminalArguments } from '../build/programs.ts'

it('does not write the file twice, and comes to its end', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'loop-'))
  const [how = '', hook = ''] = terminalArguments()
  const example = resolve('examples/15-agent-tools-loop.ts')
  const printed = execFileSync(process.execPath, [how, hook, example], { cwd, encoding: 'utf8' })
  expect(printed.split('\n')).toEqual([
    'The first process:',
    '  agent.1 replies',
    '  tools.2: "Roof of the barn: open. Roof of the shed: open."',
    '  agent.3 replies',
    '  write_file writes summary.txt',
    'It was killed: SIGKILL.',
    '',
    'The second process:',
    '  tools.4: "wrote summary.txt before the crash"',
    '  agent.5 replies',
    '',
    'completed: user, assistant, tool, assistant, tool, assistant',
    'Two roofs are open.',
    '',
  ])
})
