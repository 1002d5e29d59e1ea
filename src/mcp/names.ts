/**
 * The names of servers' tools for models: `server_tool`, legal and unique. A name depends on the config and on the tool
 * itself alone, so it stays the same when other tools come and go.
 */
import { createHash } from 'node:crypto'

const LONGEST = 64
const HASH_LENGTH = 8

/** @param servers the names of all servers in the config */
export function toolName(server: string, tool: string, servers: readonly string[]): string {
  const plain = `${legal(server)}_${legal(tool)}`
  const isExact = plain === `${server}_${tool}` && plain.length <= LONGEST && /^[a-zA-Z]/.test(plain)
  if (isExact && !belongsElsewhere(plain, server, servers)) return plain
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, HASH_LENGTH)
  const start = /^[a-zA-Z]/.test(plain) ? plain : `mcp_${plain}`
  return `${start.slice(0, LONGEST - HASH_LENGTH - 1)}_${hash}`
}

/** `a` with `b_c` and `a_b` with `c` are `a_b_c`: the second one keeps it. */
function belongsElsewhere(plain: string, server: string, servers: readonly string[]): boolean {
  return servers.some((other) => other.length > server.length && plain.startsWith(`${other}_`))
}

function legal(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]+/g, '_')
}
