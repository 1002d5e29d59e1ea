/** The port for push notification configs of tasks. */
import type { TaskPushNotificationConfig } from '@a2a-js/sdk'
import type { TaskFold } from './task-fold.ts'

export interface PushConfigs {
  /** Adds a config to a task, or replaces that of the same id. */
  create(task: TaskFold, config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig>
  list(task: TaskFold): Promise<readonly TaskPushNotificationConfig[]>
  delete(task: TaskFold, id: string): Promise<void>
}
