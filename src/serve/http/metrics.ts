/** Counters of a server in the text format of Prometheus. Names of routes, never of callers. */
import type { Host } from '../../host/index.ts'

export class Metrics {
  readonly #requests = new Map<string, number>()
  #seconds = 0

  count(route: string, status: number, seconds: number): void {
    const name = `route="${route}",status="${status}"`
    this.#requests.set(name, (this.#requests.get(name) ?? 0) + 1)
    this.#seconds += seconds
  }

  text(host: Host, streams: number): string {
    const { open, running, waiting } = host.load
    const total = [...this.#requests.values()].reduce((sum, each) => sum + each, 0)
    return [
      '# TYPE holdfast_http_requests_total counter',
      ...[...this.#requests].map(([labels, count]) => `holdfast_http_requests_total{${labels}} ${count}`),
      '# TYPE holdfast_http_request_seconds summary',
      `holdfast_http_request_seconds_sum ${this.#seconds.toFixed(6)}`,
      `holdfast_http_request_seconds_count ${total}`,
      '# TYPE holdfast_http_streams gauge',
      `holdfast_http_streams ${streams}`,
      '# TYPE holdfast_conversations_open gauge',
      `holdfast_conversations_open ${open}`,
      '# TYPE holdfast_turns_running gauge',
      `holdfast_turns_running ${running}`,
      '# TYPE holdfast_messages_waiting gauge',
      `holdfast_messages_waiting ${waiting}`,
      '',
    ].join('\n')
  }
}
