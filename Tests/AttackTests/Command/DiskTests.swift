// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing

    /// Disks that take no more, in a mount namespace of the program's own.
    @Suite(
        .enabled(if: geteuid() == 0 && Mounting.isPossible, "only root mounts a disk for a test")
    ) final class DiskTests {
        private let stage: Stage
        private let device: String

        init() throws {
            (stage, device) = try Stage.withActs()
        }

        @Test func A106_aReadOnlyDiskIsNamed() throws {
            stage.wrapper = [
                "/usr/bin/unshare", "-m", "/bin/sh", "-c",
                "mount --bind . . && mount -o remount,ro,bind \"$PWD\" && cd \"$PWD\" && exec \"$@\"", "sh",
            ]
            for act in Stage.acts.map({ stage.words($0, device: device) }) {
                let before = try stage.kept()
                let ending = try stage.run(as: "anna", act)
                #expect([1, 18].contains(ending.code), "\(act): \(ending.code) \(ending.errorText)")
                #expect(ending.errorText.contains("tresor: error: "), "\(act)")
                #expect(try stage.kept() == before, "\(act)")
            }
        }

        /// Whatever is left on the disk then is in order, and the same act goes through once there is room.
        @Test func A106_aFullDiskLosesNothing() throws {
            let script = """
                aside=$(mktemp -d) && cp -a . "$aside" && mount -t tmpfs -o size=16m none "$PWD" && cd "$PWD" || exit 99
                cp -a "$aside/." . && rm -r "$aside" && sync
                head -c 16777216 /dev/zero > filler 2> /dev/null
                "$@" 2> said
                code=$?
                rm filler
                grep -q MARKED-4711 said .tresor-* 2> /dev/null && exit 98
                "$1" --home homes/anna --password-file anna.password --batch check --deep plan.tresor > checked 2>&1 ||
                    { cat checked >&2; exit 97; }
                "$@" > again 2>&1 || grep -q 'already\\|exists\\|there is no device' again || { cat again >&2; exit 96; }
                cat said >&2
                exit $code
                """
            stage.wrapper = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh"]
            for act in Stage.acts.map({ stage.words($0, device: device) }) {
                let ending = try stage.run(as: "anna", act)
                #expect([1, 18].contains(ending.code), "\(act): \(ending.code) \(ending.errorText)")
            }
        }

        /// A scan that does not fit on a stick is given up there, holds up nothing that fits, and can be thrown away.
        @Test func A106_aScanThatDoesNotFitGivesItsRoomBack() throws {
            let stage = try Stage("anna")
            try stage.expect(as: "anna", ["create", "plans"])
            let script = """
                mkdir stick && mount -t tmpfs -o size=8m none stick && cp store.db stick/care.db || exit 99
                program=$1
                t() {
                    "$program" --home homes/anna --password-file anna.password --batch --store "$PWD/stick/care.db" "$@"
                }
                hasRoom() { test "$(df -k --output=avail stick | tail -n 1)" -gt 6000; }
                head -c 12582912 /dev/urandom > scan.pdf
                echo small > note
                t put -t plans scan.pdf 2> said
                test $? -eq 18 && grep -q ' bytes left' said && grep -q 'sync -t plans --drop' said || { cat said; exit 98; }
                hasRoom || exit 97
                t put -t plans note > said 2>&1 && t get -t plans note > /dev/null || { cat said; exit 96; }
                t sync -t plans > said 2>&1
                test $? -eq 18 && hasRoom || { cat said; exit 95; }
                t rotate -t plans --yes > said 2>&1 || { cat said; exit 94; }
                t sync -t plans --drop --yes > said 2>&1 || { cat said; exit 93; }
                hasRoom && t check --deep -t plans > said 2>&1 || { cat said; exit 92; }
                """
            stage.wrapper = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh"]
            let ending = try stage.run(as: "anna", ["list"])
            #expect(ending.code == 0, "\(ending.code) \(ending.outputText)\(ending.errorText)")
        }

        /// Whatever a home cannot note, the words are true: another home tells whether the change was sent. What is noted
        /// may be the change of the key before it, too: somebody has left.
        @Test func A106_aFullHomeSaysWhatBecameOfAChange() throws {
            let stage = try Stage("anna", "bert")
            try stage.share("plans", of: "anna", with: "bert")
            let script = """
                program=$1
                echo one > note
                t() {
                    home=$1
                    shift
                    "$program" --home "$home" --password-file anna.password --batch "$@"
                }
                leave() {
                    "$program" --home homes/bert --password-file bert.password --batch revoke -t plans --me --yes
                }
                t homes/anna put -t plans note || exit 99
                # A long log takes more room than a change does.
                for act in $(seq 30); do t homes/anna rotate -t plans --yes 2> /dev/null || exit 99; done
                cp -a homes/anna other && mkdir full && mount -t tmpfs -o size=2m none full || exit 99
                chmod 700 full && cp -a homes/anna/. full/
                for round in 0 8 16 20 24 28 32 48 24_left 32_left 40_left 44_left 48_left; do
                    left=${round%_left}
                    test $left = $round || { t other share -t plans bert && leave; } > said 2>&1 || { cat said; exit 88; }
                    head -c "$left"k /dev/zero > full/kept
                    head -c 2097152 /dev/zero > full/filler 2> /dev/null
                    rm full/kept
                    t full put -t plans --as "n$round" note > said 2>&1
                    code=$?
                    rm full/filler
                    t other records -t plans > seen 2>&1 || { cat seen; exit 98; }
                    if grep -qw "n$round" seen; then sent=yes; else sent=no; fi
                    grep -q 'not sent to plans' said && test $sent = yes && { cat said; exit 97; }
                    grep -q 'change was sent to plans' said && test $sent = no && { cat said; exit 96; }
                    grep -q 'not sent.*was made\\|not sent.*change is made' said && { cat said; exit 95; }
                    test $code -eq 0 && test $sent = no && { cat said; exit 94; }
                    t full sync -t plans > said 2>&1 || { cat said; exit 93; }
                done
                echo two > note
                t other put -t plans note > said 2>&1 || { cat said; exit 92; }
                head -c 2097152 /dev/zero > full/filler 2> /dev/null
                t full get -t plans note > out 2> said || { cat said; exit 91; }
                grep -q one out && grep -q 'no space left; this is what this home saw last' said || { cat said; exit 90; }
                rm full/filler
                t full get -t plans note > out 2> said && grep -q two out || { cat said; exit 89; }
                """
            stage.wrapper = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh"]
            let ending = try stage.run(as: "anna", ["list"])
            #expect(ending.code == 0, "\(ending.code) \(ending.outputText)\(ending.errorText)")
        }
    }

    private enum Mounting {
        static let isPossible: Bool = {
            guard has("unshare"), has("mount"), let scratch = try? Scratch() else { return false }
            let script = "mount -t tmpfs -o size=1m none '\(scratch.path)' && echo yes"
            return (try? tool("/usr/bin/unshare", ["-m", "/bin/sh", "-c", script])) == "yes\n"
        }()
    }
#endif
