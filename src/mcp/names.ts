/**
 * The names of servers' tools for models: `server_tool`, legal and unique. A name depends on the server's and on the tool's
 * alone, so it stays the same when other tools and servers come and go. `a` with `b_c` is `a_b_c`, `a_b` with `c` is `a_b--c`.
 */
import { createHash } from 'node:crypto'

const LONGEST = 64
const HASH_LENGTH = 8

export function toolName(server: string, tool: string): string {
  const isSplit = server.includes('_')
  const plain = `${legal(server)}${isSplit ? '--' : '_'}${legal(tool)}`
  const isExact = legal(server) === server && legal(tool) === tool && plain.length <= LONGEST
  // The first `--` of a name ends a server with a `_`.
  const isUnique = isSplit ? !/--|-$/.test(server) : !tool.includes('--')
  if (isExact && isUnique && /^[a-zA-Z]/.test(plain)) return plain
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, HASH_LENGTH)
  const start = /^[a-zA-Z]/.test(plain) ? plain : `mcp_${plain}`
  return `${start.slice(0, LONGEST - HASH_LENGTH - 1)}_${hash}`
}

function legal(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]+/g, '_')
}
