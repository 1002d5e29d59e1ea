/** The program of a process that takes more memory than it may. */
import { answerRequests } from '../../src/base/index.ts'

answerRequests(async (kind: string) => {
  if (kind === 'nothing') return 'alive'
  if (kind === 'heap') for (const held = new Map<number, number>(); ; ) held.set(held.size, held.size)
  if (kind === 'buffers') for (const held: Buffer[] = []; ; ) held.push(Buffer.alloc(1_000_000, 1))
  throw new Error('no such bomb')
})
