// SPDX-License-Identifier: Apache-2.0

#if Server && os(Linux)
    import Foundation
    import TestSupport
    import Testing
    import TresorCore

    @testable import TresorServer

    /// A web page of another origin in a real browser, on the machine on which the service runs.
    @Suite(.longRun, .enabled(if: Daemon.path("chromium") != nil, "Chromium is not installed")) struct BrowserTests {
        /// The tries of the page, and its report of each. It then waits until its own host and port are those of the
        /// service, as a name server of its owner could make them.
        private static func page(service: Int, report: UInt16) -> String {
            """
            <!doctype html><meta charset="utf-8"><body><script>
            const service = 'http://127.0.0.1:\(service)', type = {'Content-Type': 'application/vnd.tresor'};
            const told = [], sleep = ms => new Promise(go => setTimeout(go, ms));
            const attempt = async (name, work) => {
                try { told.push(name + ': ' + await Promise.race([work(), sleep(4000).then(() => 'nothing')])); }
                catch (error) { told.push(name + ': ' + error.name); }
            };
            const loaded = (element, set) => new Promise(go => {
                element.onload = () => go('loaded'); element.onerror = () => go('error');
                set(element); document.body.append(element);
            });
            const form = (encoding, method, target) => {
                const frame = document.createElement('iframe');
                frame.name = 'frame' + encoding + method;
                const form = document.createElement('form');
                Object.assign(form, {action: target, method, enctype: encoding, target: frame.name});
                const field = document.createElement('input');
                Object.assign(field, {name: 'a', value: 'b'});
                form.append(field);
                return loaded(frame, () => { document.body.append(frame, form); setTimeout(() => form.submit(), 50); });
            };
            const post = (place, request) => fetch(place, {method: 'POST', body: '', ...request});
            const session = {...type, Authorization: 'Tresor a.b'};
            (async () => {
                await attempt('fetch', async () => (await post(service + '/v1/server')).status);
                await attempt('fetch of a type',
                    async () => (await post(service + '/v1/server', {headers: type})).status);
                await attempt('fetch with a session',
                    async () => (await post(service + '/v1/account', {headers: session})).status);
                await attempt('blind fetch',
                    async () => (await post(service + '/v1/server', {mode: 'no-cors', body: 'a'})).type);
                await attempt('blind fetch with cookies',
                    async () => (await post(service + '/v1/server', {mode: 'no-cors', credentials: 'include'})).type);
                await attempt('blind reading', async () => (await fetch(service + '/health', {mode: 'no-cors'})).type);
                await attempt('beacon', async () => navigator.sendBeacon(service + '/v1/server', 'a'));
                await attempt('image', () => loaded(new Image(), image => { image.src = service + '/v1/server'; }));
                await attempt('script', () => loaded(document.createElement('script'), script => { script.src = service + '/health'; }));
                await attempt('frame', () => loaded(document.createElement('iframe'), frame => { frame.src = service + '/health'; }));
                await attempt('form', () => form('text/plain', 'post', service + '/v1/server'));
                await attempt('form with fields', () => form('application/x-www-form-urlencoded', 'post', service + '/v1/server'));
                await attempt('form with parts', () => form('multipart/form-data', 'post', service + '/v1/server'));
                await attempt('form that reads', () => form('text/plain', 'get', service + '/v1/server'));
                await attempt('socket', () => new Promise(go => {
                    const socket = new WebSocket(service.replace('http', 'ws') + '/v1/news');
                    socket.onopen = () => go('open'); socket.onerror = () => go('error');
                }));
                await attempt('events', () => new Promise(go => {
                    const events = new EventSource(service + '/v1/news');
                    events.onopen = () => go('open'); events.onerror = () => { events.close(); go('error'); };
                }));
                await fetch('/away').catch(() => 0);
                let status = 0;
                for (let tries = 0; tries < 100 && status != 421; tries++) {
                    await sleep(100);
                    status = await fetch('/v1/server', {method: 'POST', headers: type, body: ''}).then(r => r.status, () => 0);
                }
                told.push('own host: ' + status);
                await attempt('own host, reading', async () => (await fetch('/health')).status);
                await attempt('own host, session',
                    async () => (await post('/v1/account', {headers: session})).status);
                fetch('http://127.0.0.1:\(report)/', {method: 'POST', mode: 'no-cors', body: told.join('\\n')});
            })();
            </script>
            """
        }

        private static func html(_ text: String) -> [UInt8] {
            let body = Array(text.utf8)
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
            return Array(head.utf8) + body
        }

        @Test func A125_aPageOfAnotherOriginReachesNoOperation() async throws {
            let handler = NotingHandler()
            let wire = try await RunningWire(handler)
            let reports = LogLines()
            let reporting = try TestServer { request in
                if let body = request.text.split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first {
                    reports.add(String(body))
                }
                return .closing(Self.html(""))
            }
            let isAway = Flag()
            let page = Self.page(service: wire.port, report: reporting.port)
            let attacker = try TestServer { request in
                if request.text.hasPrefix("GET /away ") { isAway.raise() }
                return .closing(Self.html(request.text.hasPrefix("GET /page ") ? page : ""))
            }
            let directory = try TestDirectory()
            let browser = try Daemon(
                [
                    try #require(Daemon.path("chromium")), "--headless=new", "--no-sandbox", "--disable-gpu",
                    "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                    "--user-data-dir=\(directory.path)", "--remote-debugging-port=0",
                    "--host-resolver-rules=MAP attacker.example 127.0.0.1",
                    "http://attacker.example:\(attacker.port)/page",
                ], output: directory["output"])
            for _ in 0..<3600 where !isAway.isRaised { try await Task.sleep(for: .milliseconds(50)) }
            try #require(isAway.isRaised, "the page did not run: \(browser.text.suffix(500))")
            attacker.stop()
            let own = try await RunningWire(handler, at: .network(host: "127.0.0.1", port: Int(attacker.port)))
            for _ in 0..<1200 where reports.all.isEmpty { try await Task.sleep(for: .milliseconds(50)) }
            let told = reports.all.joined()
            reporting.stop()
            await own.stop()
            await wire.stop()

            #expect(handler.calls.isEmpty, "\(handler.calls.map(\.operation))")
            // The tries have reached the service, and each was refused.
            let lines = (wire.log.all + own.log.all).filter { $0.contains("\"event\":\"request\"") }
            #expect(lines.count >= 14, "\(told)")
            for line in lines {
                let status = line.firstMatch(of: /"status":([0-9]+)/).flatMap { Int($0.1) }
                #expect([400, 403, 405, 411, 415, 421].contains(status), "\(line)")
            }
            #expect(own.log.all.contains { $0.contains("\"status\":421") })
            // A busy browser may not have come to an end with some.
            for answer in ["fetch: TypeError", "own host: 421", "own host, reading: 421"] {
                #expect(told.contains(answer), "\(answer) in \(told)")
            }
            for answer in ["200", "open"] { #expect(!told.contains(": " + answer), "\(answer) in \(told)") }
        }
    }
#endif
