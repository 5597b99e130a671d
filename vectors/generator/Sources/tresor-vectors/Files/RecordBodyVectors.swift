// SPDX-License-Identifier: Apache-2.0

/// The bodies of records, SPEC §9.2, §9.3: each rule broken alone makes one void, and the log stays valid.
struct RecordBodyVectors: LogTestWriter {
    let file: VectorFile

    private static let limit: UInt64 = 1_081_762

    private func blob(_ size: UInt64, _ name: String = "blob") -> Bytes { draw(0)(name, 32) + u64(size) }

    @discardableResult private func takes(_ comment: String, _ log: Log, _ entry: Bytes, base: Int? = nil) -> Int {
        accept(comment, ["Normal"], base: base, log, entry)
    }

    private func void(_ comment: String, _ rule: Int, _ log: Log, _ entry: Bytes, base: Int? = nil) {
        accept(comment, ["Void"], base: base, rule: rule, log, entry)
    }

    func addBodies() {
        let log = Cast.fullLog()
        addCommits(log)
        addCheckpoints(log)
    }

    private func addCommits(_ log: Log) {
        let epoch = log.current.number
        func entry(_ blobs: [Bytes], epoch: UInt64? = nil, by author: Person = Cast.anna) -> Bytes {
            log.entry(author, Body.commit(blobs, epoch: epoch ?? log.current.number))
        }
        let base = takes("a commit by an owner", log, entry([blob(674)]))
        takes("a commit by a writer", log, entry([blob(674)], by: Cast.bert), base: base)
        takes("a commit by a writer from now on", log, entry([blob(674)], by: Cast.fred), base: base)
        takes(
            "the largest pack, and attachments of the least and the greatest size", log,
            entry([blob(Self.limit), blob(674, "a"), blob(1 << 40, "b")]), base: base)
        takes("1024 blobs", log, entry((0..<1024).map { blob(674, "blob \($0)") }), base: base)
        void("no blob", 38, log, entry([]), base: base)
        void("1025 blobs", 38, log, entry((0..<1025).map { blob(674, "blob \($0)") }), base: base)
        void("a pack of 673 bytes", 38, log, entry([blob(673)]), base: base)
        void("a pack one byte too large", 38, log, entry([blob(Self.limit + 1)]), base: base)
        void("an attachment of 673 bytes", 38, log, entry([blob(674), blob(673)]), base: base)
        void("an attachment one byte too large", 38, log, entry([blob(674), blob((1 << 40) + 1)]), base: base)
        void("the epoch before", 39, log, entry([blob(674)], epoch: epoch - 1), base: base)
        void("the epoch after", 39, log, entry([blob(674)], epoch: epoch + 1), base: base)
        var left = log
        left.append(Cast.cleo, Body.leave)
        void(
            "while *rekey pending* is set", 40, left,
            left.entry(Cast.anna, Body.commit([blob(674)], epoch: epoch)))
        for (comment, body) in [
            ("a byte behind the blobs", Body.commit([blob(674)], epoch: epoch).1 + [0]),
            ("a blob of 39 bytes", Bytes(Body.commit([blob(674)], epoch: epoch).1.dropLast())), ("no bytes", []),
        ] {
            void("\(comment): it does not read", 2, log, log.entry(Cast.anna, (BodyType.commit, body)), base: base)
        }
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ author: Person) {
            self.refuse(
                comment, flag, rule, base: base, log,
                log.entry(author, Body.commit([blob(674)], epoch: epoch)))
        }
        refuse("a commit by a reader", "WrongRole", 15, Cast.cleo)
        refuse("a commit by somebody removed", "RemovedAuthor", 13, Cast.emilRenewed)
        refuse("a commit by a stranger", "UnknownMember", 11, Cast.gwen)
    }

    /// Fred reads from entry 7 on, and the newest entry before these is 8.
    private func addCheckpoints(_ before: Log) {
        var log = before
        let epoch = log.current.number
        log.append(Cast.bert, Body.commit([blob(674)], epoch: epoch))
        func entry(
            _ log: Log, _ upto: UInt64, _ volumes: [Bytes]? = nil, epoch: UInt64? = nil, by author: Person = Cast.anna
        ) -> Bytes {
            let epoch = epoch ?? log.current.number
            return log.entry(author, Body.checkpoint(volumes ?? [blob(674)], upto: upto, epoch: epoch))
        }
        let base = takes("a checkpoint up to the entry before the first newcomer", log, entry(log, 6))
        takes("a checkpoint by another owner", log, entry(log, 1, by: Cast.dora), base: base)
        takes("10 000 volumes", log, entry(log, 6, (0..<10_000).map { blob(Self.limit, "volume \($0)") }), base: base)
        void("a checkpoint by a writer", 15, log, entry(log, 6, by: Cast.bert), base: base)
        void("no volume", 38, log, entry(log, 6, []), base: base)
        void("10 001 volumes", 38, log, entry(log, 6, (0..<10_001).map { blob(674, "volume \($0)") }), base: base)
        void("a volume of 673 bytes", 38, log, entry(log, 6, [blob(673)]), base: base)
        void(
            "a second volume one byte too large", 38, log, entry(log, 6, [blob(674), blob(Self.limit + 1, "b")]),
            base: base)
        void("a checkpoint under the epoch before", 39, log, entry(log, 6, epoch: epoch - 1), base: base)
        var left = log
        left.append(Cast.cleo, Body.leave)
        void("a checkpoint while *rekey pending* is set", 40, left, entry(left, 6))
        void("a checkpoint up to the genesis", 41, log, entry(log, 0), base: base)
        var kept = log
        kept.append(entry(log, 5))
        takes("a checkpoint above the floor", kept, entry(kept, 6))
        void("a checkpoint up to the floor", 41, kept, entry(kept, 5))
        void("a checkpoint below the floor", 41, kept, entry(kept, 4))
        void("a checkpoint up to the entry that added a newcomer", 42, log, entry(log, 7), base: base)
        void(
            "a checkpoint up to the head, above a newcomer's beginning", 42, log, entry(log, log.sequence - 1),
            base: base)
        var without = log
        without.remove([Cast.fred])
        takes("up to the head, after the newcomer was removed", without, entry(without, without.sequence - 1))
        void("a checkpoint that stands for itself", 41, without, entry(without, without.sequence))
        void("a checkpoint of entries to come", 41, without, entry(without, .max))
        void(
            "a byte behind the volumes of a checkpoint: it does not read", 2, log,
            log.entry(Cast.anna, (BodyType.checkpoint, Body.checkpoint([blob(674)], upto: 6, epoch: epoch).1 + [0])),
            base: base)
        refuse("a checkpoint by a reader", "WrongRole", 15, base: base, log, entry(log, 6, by: Cast.cleo))
    }
}
