// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore

    /// Runs a task on the thread of a connection: it takes no other thread before it waits for the database, and none after
    /// it.
    ///
    /// For tasks whose own work takes less than a millisecond. All connections of the thread wait for that.
    final class LoopExecutor: TaskExecutor {
        private let loop: any EventLoop

        init(_ loop: any EventLoop) { self.loop = loop }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
#endif
