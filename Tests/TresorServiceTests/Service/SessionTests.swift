// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The callers: sessions, devices, and requests that are sent again.
    @Suite(.overEveryEngine) struct SessionTests {
        @Test func aPersonSpeaksWhileTheSessionLasts() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            #expect(try await anna.ask(AccountRequest()).state == .active)
            #expect(try await anna.ask(CardRequest(user: anna.user)).chain == anna.identity.chain.bytes)
            bench.clock.now += 3_600
            #expect(try await anna.ask(AccountRequest()).state == .active)
            bench.clock.now += 1
            #expect(try await anna.reply(AccountRequest()) == .unauthorized)
        }

        @Test(arguments: [-301, -300, 300, 301] as [Int64]) func aClockMayDifferByFiveMinutes(_ seconds: Int64)
            async throws
        {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let call = try anna.call(AccountRequest())
            bench.clock.now = UInt64(Int64(bench.clock.now) + seconds)
            #expect(await bench.service.answer(call).status == (abs(seconds) <= 300 ? 200 : 401))
        }

        @Test func A119_aSessionOfAnotherServiceIsRefused() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let key = try SessionKey(
                of: anna.identity, device: nil, server: .zero, since: bench.clock.now, duration: 3_600)
            let other = Signer(service: bench.service, clock: bench.clock, identity: anna.identity, key: key)
            #expect(try await other.reply(AccountRequest()) == .unauthorized)
        }

        @Test func A119_aSessionSignedBySomebodyElseIsRefused() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let eve = try await bench.person("eve")
            let good = anna.key.statement
            let forged = try SessionStatement(
                kind: .identity, server: good.server, user: anna.user, generation: 0, device: nil,
                key: eve.key.statement.key, since: good.since, until: good.until
            ) { (label, bytes) throws(TresorError) in try eve.identity.sign(label, bytes) }
            let body = AccountRequest().bytes
            let signed = try eve.key.authorization(
                for: .account, body: body, id: randomBytes(16), time: bench.clock.now)
            let text = Authorization(statement: forged, id: signed.id, time: signed.time, signature: signed.signature)
                .text
            let reply = await bench.service.answer(
                ServiceCall(operation: .account, body: body, authorization: text, source: []))
            #expect(reply == .unauthorized)
        }

        @Test func A119_aSignatureServesOneOperationAndOneBody() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let call = try anna.call(CardRequest(user: anna.user))
            let otherBody = ServiceCall(
                operation: .card, body: CardRequest(user: bench.operatorIdentity.user).bytes,
                authorization: call.authorization, source: [])
            let otherOperation = ServiceCall(
                operation: .tresors, body: call.body, authorization: call.authorization, source: [])
            #expect(await bench.service.answer(otherBody) == .unauthorized)
            #expect(await bench.service.answer(otherOperation) == .unauthorized)
            #expect(await bench.service.answer(call).status == 200)
        }

        /// The client learns none of it.
        @Test func theOperatorIsToldWhyARequestIsRefused() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            func cause(_ reply: ServiceReply) -> Refusal.Cause? {
                #expect(reply == .unauthorized)
                return reply.cause
            }
            let call = try anna.call(AccountRequest())
            let elsewhere = ServiceCall(
                operation: call.operation, body: call.body, authorization: call.authorization, source: [], audiences: []
            )
            #expect(cause(await bench.service.answer(elsewhere)) == .address)
            let key = try SessionKey(
                of: anna.identity, device: nil, server: .zero, since: bench.clock.now, duration: 3_600)
            let other = Signer(service: bench.service, clock: bench.clock, identity: anna.identity, key: key)
            #expect(cause(try await other.reply(AccountRequest())) == .service)
            #expect(cause(try await bench.stranger("eve").reply(AccountRequest())) == .unknownKey)
            bench.clock.now += 400
            #expect(cause(await bench.service.answer(call)) == .clock)
            bench.clock.now += 3_600
            #expect(cause(try await anna.reply(AccountRequest())) == .ended)
            let later = try bench.signer(anna.identity)
            #expect(try await later.reply(AccountRequest()).cause == nil)
            try await bench.service.directory.close(anna.user)
            #expect(cause(try await later.reply(AccountRequest())) == .closed)
            let head = ServiceHead(
                operation: .append, bodyByteCount: 1 << 20, authorization: try later.call(.append, []).authorization,
                source: [])
            let refusal = Refusal(.unauthorized, .noAccess, cause: .closed)
            await #expect(throws: refusal) { _ = try await bench.service.proves(head) }
        }

        @Test func aStrangerIsToldNothing() async throws {
            let bench = try await Bench()
            let stranger = try bench.stranger("eve")
            for operation in ServiceOperation.allCases where operation.speaker != .anyone {
                let call = ServiceCall(operation: operation, body: [], authorization: nil, source: [])
                #expect(await bench.service.answer(call) == .unauthorized)
                if operation == .register || operation == .putCard { continue }
                #expect(await bench.service.answer(try stranger.call(operation, [])) == .unauthorized)
            }
        }

        @Test func endedSessionsEndAtOnceInEveryProcess() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let other = try await bench.anotherService()
            #expect(await other.answer(try anna.call(AccountRequest())).status == 200)
            bench.clock.now += 10
            let later = try bench.signer(anna.identity)
            let ending = try later.call(EndSessionsRequest())
            let ended = await bench.service.answer(ending)
            #expect(ended.status == 200)
            let now = try await bench.era(of: anna.user)
            #expect(await other.answer(try anna.call(AccountRequest())) == ServiceReply(.ended(now: now)))
            #expect(try await later.reply(AccountRequest()) == ServiceReply(.ended(now: now)))
            // The answer to the request that ended its own session is kept.
            #expect(await bench.service.answer(ending) == ended)
            #expect(try await bench.renewed(anna).reply(AccountRequest()).status == 200)
        }

        @Test func A236_theEndOfSessionsReachesThoseOfLater() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            // Dated ahead, as somebody in between could have had it.
            bench.clock.now += 250
            let ahead = try bench.signer(anna.identity)
            bench.clock.now -= 250
            #expect(try await ahead.reply(AccountRequest()).status == 200)
            _ = try await anna.ask(EndSessionsRequest())
            bench.clock.now += 250
            #expect(try await ahead.reply(AccountRequest()).status == 401)
            // Nobody signs for an era before it begins: the next one is drawn.
            let first = try await bench.era(of: anna.user)
            _ = try await bench.renewed(anna).ask(EndSessionsRequest())
            let second = try await bench.era(of: anna.user)
            #expect(first.bytes.lexicographicallyPrecedes(second.bytes))
            #expect(second.bytes.suffix(8) != first.bytes.suffix(8))
            let former = try bench.signer(anna.identity, in: first)
            #expect(try await former.reply(AccountRequest()) == ServiceReply(.ended(now: second)))
        }

        @Test func A236_nobodyElseLearnsAnEra() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let eve = try await bench.person("eve")
            _ = try await anna.ask(EndSessionsRequest())
            let good = anna.key.statement
            let forged = try SessionStatement(
                kind: .identity, server: good.server, user: anna.user, generation: 0, device: nil,
                key: eve.key.statement.key, since: good.since, until: good.until
            ) { (label, bytes) throws(TresorError) in try eve.identity.sign(label, bytes) }
            let signed = try eve.key.authorization(for: .account, body: [], id: randomBytes(16), time: bench.clock.now)
            let text = Authorization(statement: forged, id: signed.id, time: signed.time, signature: signed.signature)
                .text
            let call = ServiceCall(operation: .account, body: [], authorization: text, source: [])
            #expect(await bench.service.answer(call) == .unauthorized)
            #expect(try await eve.reply(AccountRequest()).status == 200)
        }

        @Test func A235_aSessionForAnotherAddressIsRefused() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let others = [
                Audience(isSecure: false, host: "tresor.example", port: 443),
                Audience(isSecure: true, host: "relay.example", port: 443),
                Audience(isSecure: true, host: "tresor.example", port: 8443),
            ]
            for other in others {
                let key = try SessionKey(
                    of: anna.identity, device: nil, server: bench.service.id, audience: other.hash(),
                    since: bench.clock.now, duration: 3_600)
                let relayed = Signer(service: bench.service, clock: bench.clock, identity: anna.identity, key: key)
                #expect(try await relayed.reply(AccountRequest()) == .unauthorized)
                // Nor does a head of it prove itself.
                let head = ServiceHead(
                    operation: .append, bodyByteCount: 1 << 20,
                    authorization: try relayed.call(.append, []).authorization, source: [])
                let refusal = Refusal(.unauthorized, .noAccess, cause: .address)
                await #expect(throws: refusal) { _ = try await bench.service.proves(head) }
                // It is good at a service with that address.
                let call = try relayed.call(AccountRequest())
                let there = ServiceCall(
                    operation: call.operation, body: call.body, authorization: call.authorization, source: [],
                    audiences: [.ofTests, other])
                #expect(await bench.service.answer(there).status == 200)
            }
            let call = try anna.call(AccountRequest())
            let nowhere = ServiceCall(
                operation: call.operation, body: call.body, authorization: call.authorization, source: [], audiences: []
            )
            #expect(await bench.service.answer(nowhere) == .unauthorized)
        }

        @Test func aNewGenerationPublishesItselfAndEndsTheOldOne() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let renewed = try anna.identity.renewCard(time: bench.clock.now).identity
            let next = try bench.signer(renewed)
            #expect(try await next.reply(AccountRequest()) == .unauthorized)
            let request = PutCardRequest(chain: renewed.chain.bytes, replacing: anna.identity.chain.bytes)
            #expect(try await next.ask(request).outcome == .done)
            #expect(try await next.ask(AccountRequest()).state == .active)
            #expect(try await anna.reply(AccountRequest()) == .unauthorized)
            // Somebody who has only the old keys cannot put the old chain again.
            #expect(
                try await anna.reply(PutCardRequest(chain: anna.identity.chain.bytes, replacing: renewed.chain.bytes))
                    == .unauthorized)
            let fork = try bench.signer(try anna.identity.renewCard(time: bench.clock.now + 1).identity)
            #expect(
                try await fork.reply(PutCardRequest(chain: fork.identity.chain.bytes, replacing: renewed.chain.bytes))
                    .status >= 400)
            #expect(try await next.ask(CardRequest(user: anna.user)).chain == renewed.chain.bytes)
        }

        @Test func A124_aDeviceFetchesItsShareOnceARequest() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let (device, share) = try await anna.trustedDevice()
            let call = try device.call(ServerShareRequest(device: share.id))
            let first = await bench.service.answer(call)
            #expect(try ServerShareAnswer(first.body).share == [UInt8](repeating: 9, count: 32))
            #expect(await bench.service.answer(call) == .forbidden)
            #expect(!(try await bench.rows().last ?? []).contains { $0.values.contains(.bytes(first.body)) })
            #expect(try await device.ask(ServerShareRequest(device: share.id)).share.count == 32)
        }

        @Test func A124_aDeviceDoesNothingElse() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let (device, share) = try await anna.trustedDevice()
            let (_, other) = try await anna.trustedDevice()
            let allowed: Set<ServiceOperation> = [
                .server, .kitCopy, .putOffer, .login, .finishLogin, .serverShare, .deleteServerShares,
            ]
            for operation in ServiceOperation.allCases where !allowed.contains(operation) {
                let reply = await bench.service.answer(try device.call(operation, []))
                #expect(reply == .forbidden, "\(operation)")
            }
            #expect(try await device.reply(ServerShareRequest(device: other.id)) == .forbidden)
            #expect(try await device.reply(DeleteServerSharesRequest(devices: [])) == .forbidden)
            #expect(try await device.reply(DeleteServerSharesRequest(devices: [other.id])) == .forbidden)
            #expect(try await device.reply(DeleteServerSharesRequest(devices: [share.id, other.id])) == .forbidden)
            #expect(try await anna.ask(ServerShareRequest(device: other.id)).share.count == 32)
        }

        @Test func A124_nobodyFetchesTheShareOfARemovedDevice() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let (device, share) = try await anna.trustedDevice()
            let eve = try bench.stranger("eve")
            let forged = try SessionStatement(
                kind: .device, server: bench.service.id, user: anna.user, generation: 0, device: share.id,
                key: eve.key.statement.key, since: bench.clock.now, until: bench.clock.now + 60
            ) { (label, bytes) throws(TresorError) in try eve.identity.sign(label, bytes) }
            let body = ServerShareRequest(device: share.id).bytes
            let signed = try eve.key.authorization(
                for: .serverShare, body: body, id: randomBytes(16), time: bench.clock.now)
            let text = Authorization(statement: forged, id: signed.id, time: signed.time, signature: signed.signature)
                .text
            let call = ServiceCall(operation: .serverShare, body: body, authorization: text, source: [])
            #expect(await bench.service.answer(call) == .unauthorized)
            let speaking = try bench.signer(anna.identity, device: share.id)
            #expect(try await speaking.reply(AccountRequest()).status == 200)
            _ = try await anna.ask(DeleteServerSharesRequest(devices: [share.id]))
            #expect(try await device.reply(ServerShareRequest(device: share.id)) == .unauthorized)
            #expect(try await speaking.reply(AccountRequest()) == .unauthorized)
            #expect(try await anna.ask(ServerShareRequest(device: share.id)).share.isEmpty)
        }

        @Test func A124_triesAreLimited() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let (device, share) = try await anna.trustedDevice()
            for _ in 0..<200 { #expect(try await device.reply(ServerShareRequest(device: share.id)).status == 200) }
            let reply = try await device.reply(ServerShareRequest(device: share.id))
            #expect(reply.status == 429)
            #expect(reply.retryAfter ?? 0 > 0)
        }

        @Test func A129_aRequestThatIsSentAgainGetsTheSameAnswer() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let put = PutKitCopyRequest(locator: anna.user.digest, copy: [1])
            let id = try randomBytes(16)
            let first = try await anna.reply(put, id: id)
            _ = try await anna.ask(DeleteKitCopyRequest(locator: anna.user.digest))
            bench.clock.now += 200
            #expect(try await anna.reply(put, id: id) == first)
            // It was answered, not done again.
            #expect(try await anna.ask(KitCopyRequest(locator: anna.user.digest)).copy.isEmpty)
        }

        @Test func A129_anIdServesOneBodyAndOneOperation() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let id = try randomBytes(16)
            _ = try await anna.ask(PutKitCopyRequest(locator: anna.user.digest, copy: [1]), id: id)
            let before = try await bench.rows()
            #expect(
                try await anna.reply(PutKitCopyRequest(locator: anna.user.digest, copy: [2]), id: id)
                    == .refused(.failed(.other)))
            #expect(
                try await anna.reply(DeleteKitCopyRequest(locator: anna.user.digest), id: id)
                    == .refused(.failed(.other)))
            #expect(try await bench.rows() == before)
            // The id of somebody else is another one.
            let bert = try await bench.person("bert")
            _ = try await bert.ask(PutKitCopyRequest(locator: bert.user.digest, copy: [3]), id: id)
        }

        @Test func A129_aRequestThatIsSentTwiceAtOnceHappensOnce() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let other = try await bench.anotherService()
            let call = try anna.call(PutKitCopyRequest(locator: anna.user.digest, copy: [1]))
            let replies = await withTaskGroup(of: ServiceReply.self) { group in
                for number in 0..<20 {
                    group.addTask { await (number.isMultiple(of: 2) ? bench.service : other).answer(call) }
                }
                return await group.reduce(into: Set<ServiceReply>()) { $0.insert($1) }
            }
            #expect(replies == [ServiceReply(DoneAnswer())])
        }

        /// However many answers are to be dropped, no transaction drops all of them.
        @Test func answersAreDroppedInPortions() async throws {
            let bench = try await Bench()
            let rows = (0..<12_000).map { number in
                SQL(
                    "INSERT INTO requests (scope, id, time, body, answer) VALUES ($1, $2, $3, $4, NULL)",
                    [
                        .bytes([1]), .bytes(bigEndianBytes(UInt64(number))), .integer(Int64(number / 7)), .bytes([]),
                    ])
            }
            _ = try await bench.engine.write(rows)
            let engine = CountingEngine(bench.engine)
            let context = try ServiceContext(engine: engine, settings: bench.settings)
            try await Registrations(context: context).sweep()
            #expect(engine.count >= 4)
            #expect(try await (bench.rows().last ?? []).isEmpty)
        }

        /// Nobody tries locators as fast as they like. Calls of this process have no source.
        @Test func kitCopiesForASourceAreLimited() async throws {
            let bench = try await Bench()
            func ask(_ source: [UInt8]) async -> Int {
                await bench.service.answer(
                    ServiceCall(
                        operation: .kitCopy, body: KitCopyRequest(locator: .zero).bytes, authorization: nil,
                        source: source)
                ).status
            }
            for _ in 0..<60 { #expect(await ask([192, 0, 2, 1]) == 200) }
            #expect(await ask([192, 0, 2, 1]) == 429)
            #expect(await ask([192, 0, 2, 2]) == 200)
        }

        @Test func answersAreKeptForAnHour() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            _ = try await anna.ask(PutKitCopyRequest(locator: anna.user.digest, copy: [1]))
            bench.clock.now += 3_600
            try await bench.service.sweep()
            #expect(try await !(bench.rows().last ?? []).isEmpty)
            bench.clock.now += 1
            try await bench.service.sweep()
            #expect(try await (bench.rows().last ?? []).isEmpty)
        }
    }
#endif
