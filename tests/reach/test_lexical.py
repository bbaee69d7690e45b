"""Terms of English and Chinese, and keyword scores: what they mean, and that they are the same every time."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reach_tui.reach.decision import decide
from reach_tui.reach.description import named_as_tools, sentences
from reach_tui.reach.lexical import LexicalIndex
from reach_tui.reach.text import STOPWORDS, stem, terms
from tests.reach.tools import shop, tool

# How people ask a shop, with their slips and ellipses; none of these stands in the registry.
ASKED = """
query_refund|退款到账没
query_refund|上周那笔退款怎么还没到
query_refund|钱退了没啊都五天了
query_refund|退款多久能到银行卡
query_refund|1000200030009999 退款进度咋样了
query_refund|where's my refund for order 1000200030009999
query_refund|how much did I get refunded
query_refund|refund status pls
query_order_status|我的订单到哪一步了
query_order_status|1000200030009999 发货了没
query_order_status|订单怎么还是待付款
query_order_status|order 1000200030009999 whats the status
query_order_status|did my order ship already
search_order|我忘了订单号了，手机号是13800138001
search_order|查下13800138001最近买的东西
search_order|find all my orders from may
search_order|我上周下的单有哪些
cancel_order|不要了取消吧 1000200030009999
cancel_order|订单取消
cancel_order|cancel my order please, too slow
cancel_order|还没发货我想把订单取消
update_order_address|地址填错了能改吗
update_order_address|change the shipping adress of 1000200030009999
update_order_address|改下收货地址
create_refund|少发了一件，退我那件的钱
create_refund|申请仅退款
create_refund|I never got the goods, give me my money back
create_refund|杯子碎了退我二十块
cancel_refund|退款申请撤销
cancel_refund|不退款了，撤回申请 R202606019999
cancel_refund|withdraw the refund request
query_payment|付款成功没
query_payment|这单我是花呗付的还是微信付的
query_payment|was order 1000200030009999 paid
query_payment|how much did I pay for that order
query_balance|我余额还有多少
query_balance|wallet balance?
query_balance|钱包里还剩几块钱
track_parcel|SF1234567890999 到哪了
track_parcel|快递走到哪里了
track_parcel|track my package
track_parcel|物流信息查一下
track_parcel|where is the parcel now
query_delivery_estimate|什么时候能送到啊
query_delivery_estimate|when does it arrive
query_delivery_estimate|后天能送达吗 1000200030009999
query_delivery_estimate|预计几号到货
report_lost_parcel|快递丢了怎么办
report_lost_parcel|my parcel got lost
report_lost_parcel|包裹一个星期没动静，是不是丢件了
create_return|我要退货
create_return|鞋子不喜欢想退回去
create_return|I'd like to return this jacket
create_return|send the goods back
query_return|退回去的货你们收到没
query_return|退货进度
query_return|did the warehouse get my return
request_exchange|想换个大一码的
request_exchange|换货 颜色发错了
request_exchange|swap it for a larger size
search_product|有没有防水的背包
search_product|推荐个三百左右的电饭煲
search_product|looking for a red scarf
query_stock|这款还有货吗
query_stock|SKU00009999 库存
query_stock|is it still in stock
request_price_protection|刚买完就降价太坑了
request_price_protection|价保怎么申请
request_price_protection|it got cheaper after I bought it
query_coupon|我有哪些优惠券
query_coupon|券快过期了没
query_coupon|list my coupons
issue_coupon|送客户一张券
issue_coupon|补发个10元优惠券给C00009999
issue_coupon|give the customer a coupon
create_invoice|开发票
create_invoice|帮我开个公司抬头的发票
create_invoice|I need an invoice for 1000200030009999
query_invoice|发票下载链接
query_invoice|我的发票开好了没
query_invoice|download invoice
search_customer|13800138001是哪个客户
search_customer|客户资料查询
search_customer|look up customer by email
query_points|积分还剩多少
query_points|points balance
query_points|积分啥时候过期
notify_customer|发短信告诉他明天到
notify_customer|text the customer
notify_customer|通知客户退款已经处理好了
create_ticket|转人工
create_ticket|我要投诉
create_ticket|I want to talk to a human
create_ticket|催单！！
""".strip().splitlines()

LATER = """
query_refund|钱什么时候退到我支付宝啊
query_refund|退款显示成功但是没收到钱 1000200030007777
query_refund|has the money for my cancelled order been refunded yet
query_refund|查退款
query_order_status|订单咋还没发出来
query_order_status|看下这单签收了没有 1000200030007777
query_order_status|order status 1000200030007777
query_order_status|is my order packed yet?
search_order|昵称叫大白兔，找下她的订单
search_order|what did I buy in april, phone 13700137000
search_order|订单号找不到了
search_order|列一下13700137000这个月的订单
cancel_order|拍错了，单子帮我取消
cancel_order|i dont want it anymore, cancel 1000200030007777
cancel_order|能不能取消这个订单还没发呢
update_order_address|收件地址写成老家了，换成公司的
update_order_address|wrong address on my order, can you fix it
create_refund|漏发了，直接退钱给我吧货我不要补了
create_refund|partial refund please, one glass was broken
create_refund|东西没收到要求退款
cancel_refund|我不想退款了 帮我撤掉
cancel_refund|undo refund R202606017777
query_payment|怎么扣了我两次款
query_payment|did the payment for 1000200030007777 go through
query_payment|实付多少钱啊那单
query_balance|账户余额查询
query_balance|how much money is in my wallet
track_parcel|包裹现在在哪个城市
track_parcel|tracking YT1234567890777
track_parcel|看下物流走到哪了
query_delivery_estimate|几号能收到货
query_delivery_estimate|expected delivery date of 1000200030007777?
query_delivery_estimate|能赶在周五前送到吗
report_lost_parcel|件丢了，查一下
report_lost_parcel|package missing for two weeks, please search for it
create_return|衣服有色差，申请退货
create_return|how do i send this back
create_return|质量太差我要退掉
query_return|我退的货到你们仓库了吗
query_return|return T202606017777 status
request_exchange|鞋买小了换 43 码
request_exchange|can I exchange it for blue
search_product|找一款适合跑步的耳机
search_product|show me cheap backpacks
query_stock|SKU00007777 还有没有库存
query_stock|any left of SKU00007777
request_price_protection|昨天买的今天便宜了三十，补差
request_price_protection|price dropped, can I get the difference back
query_coupon|看看我账号里有没有可用的券
query_coupon|do I have coupons left
issue_coupon|给她补一张二十块的券道个歉
issue_coupon|send C00007777 a 10 yuan voucher
create_invoice|报销要用发票，麻烦开一下
create_invoice|please issue an invoice to Blue Sea Ltd
query_invoice|电子发票发我邮箱里没找到，重新看下链接
query_invoice|where is my invoice
search_customer|这个手机号 13700137000 是谁
search_customer|find customer with mail a@b.com
query_points|我有多少分可以用
query_points|when do my points expire
notify_customer|给客户发条消息说货发出了
notify_customer|send C00007777 a message that we are closed
create_ticket|你们客服态度太差了 投诉
create_ticket|get me a real person
""".strip().splitlines()
"""Written after the first constants were fixed, and harder."""

NOBODYS = """
今天天气怎么样
帮我写一首诗
what's the capital of France
book me a flight to Tokyo
把这段话翻译成英文
play some music
1+1等于几
how do I cook rice
推荐一家附近的餐厅
set an alarm for 7am
股票今天涨了吗
write a python function that sorts a list
delete my account
修改我的登录密码
""".strip().splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("queryRefund", ["query_refund"]),
        ("query_refund", ["queryRefund"]),
        ("HTTPServer getURL", ["http server get url"]),
        ("shipped shipping ships", ["ship ship ship"]),
        ("refunds refunded refunding", ["refund refund refund"]),
        ("cancellation cancelled", ["cancel cancel"]),
        ("deliveries delivered", ["delivery deliver"]),
        ("payments paying", ["pay pay"]),
        ("ＯＲＤＥＲ", ["order"]),
    ],
)
def test_forms_of_a_word_meet(text: str, expected: list[str]) -> None:
    assert terms(text) == terms(expected[0])


def test_chinese_is_pairs_and_characters() -> None:
    assert terms("退款到账") == ["退", "款", "到", "账", "退款", "款到", "到账"]
    assert terms("帮我看看退款了吗") == ["退", "款", "退款"]
    assert set(terms("申请地址还款")) >= {"申请", "地址", "还款"}


def test_numbers_are_their_length() -> None:
    assert terms("1000200030004001") == terms("9999888877776666") == ["#16"]
    assert terms("C00001234") == ["c", "#8"]


def test_words_without_meaning_are_left_out() -> None:
    assert terms("Could you please tell me what it is?") == []
    assert all(stem(word) in STOPWORDS or not terms(word) for word in STOPWORDS)


@given(st.text(max_size=300))
def test_any_text_has_terms(text: str) -> None:
    found = terms(text)
    assert found == terms(text)
    assert all(term and not term.isspace() for term in found)


def test_sentences_are_told_apart() -> None:
    text = (
        "Looks up one refund. Input is the order number. Does not start refunds. To see the parcel use track_parcel.\n"
        "查询退款状态。输入必须是订单号。不支持批量查询；查物流用 track_parcel。"
    )
    parts = sentences(text, "query_refund", {"query_refund", "track_parcel"})
    assert [(p.purpose, p.input, p.limit, p.elsewhere) for p in parts] == [
        (True, False, False, ()),
        (False, True, False, ()),
        (False, False, True, ()),
        (False, False, False, ("track_parcel",)),
    ] * 2
    assert named_as_tools("First call `search_order`, then use pay.ment_2; 用 track_parcel。use it") == [
        "search_order", "pay.ment_2", "track_parcel",
    ]  # fmt: skip


def test_a_score_is_the_root_of_what_the_best_tool_covers() -> None:
    index = LexicalIndex([tool("alpha_beta", "Gamma delta."), tool("other_thing", "Epsilon zeta.")])
    whole, half, none = (index.scores(text)[0] for text in ("alpha beta", "alpha beta epsilon zeta", "omega"))
    assert whole > 0.75
    assert half == pytest.approx(whole / 2**0.5, abs=0.05)  # half of what was asked is covered
    assert none == 0.0
    assert index.scores("") == [0.0, 0.0]


def test_a_sentence_about_a_neighbour_speaks_for_the_neighbour() -> None:
    tools = [
        tool("query_refund", "Looks up money coming back. For parcels and couriers use track_parcel."),
        tool("track_parcel", "Shows where parcels and couriers are."),
    ]
    assert [one.name for one in LexicalIndex(tools).candidates("couriers", 5)] == ["track_parcel"]


def test_a_counter_example_costs_its_tool_and_helps_the_other() -> None:
    says = "what happened to my money lately"
    neighbours = [tool("one", "Tells of money lately."), tool("two", "Tells of payments.")]
    plain = LexicalIndex(neighbours).scores(says)
    counter = [{"utterance": says, "counter_example": True, "use_instead": "two"}]
    taught = LexicalIndex([tool("one", "Tells of money lately.", sample_calls=counter), neighbours[1]]).scores(says)
    assert plain[0] > plain[1]
    assert taught[0] < taught[1]


def test_forgetting_a_sample_is_like_never_having_had_it() -> None:
    sample = [{"utterance": "please fetch the wombat", "params": {}}]
    index = LexicalIndex([tool("fetch", "Brings things.", sample_calls=sample), tool("other", "Wombat.")])
    assert index.scores("please fetch the wombat", forget=0)[0] < index.scores("please fetch the wombat")[0]
    assert index.scores("wombat", forget=0)[1] > 0


def test_reasons_name_the_words_as_they_were_asked() -> None:
    (found,) = LexicalIndex(shop()).candidates("Tracking my PARCELS", 1)
    assert found.name == "track_parcel"
    assert found.reason.startswith("words: ")
    assert "PARCELS" in found.reason


def test_the_order_of_tools_does_not_matter() -> None:
    tools = list(shop())
    index = LexicalIndex(tools)
    for seed in range(3):
        Random(seed).shuffle(tools)
        shuffled = LexicalIndex(tools)
        for line in ASKED[::9]:
            asked = line.split("|")[1]
            assert shuffled.candidates(asked, 5) == index.candidates(asked, 5)


FEW = LexicalIndex(shop()[:4])


@given(st.text(max_size=120))
def test_scores_lie_between_0_and_1_by_falling_score_then_name(text: str) -> None:
    found = FEW.candidates(text, 4)
    assert all(0 < one.score <= 1 for one in found)
    assert [(-one.score, one.name) for one in found] == sorted((-one.score, one.name) for one in found)


@pytest.mark.parametrize(("asked", "first", "five"), [(ASKED, 0.82, 0.95), (LATER, 0.68, 0.93)])
def test_the_tool_is_found_for_what_people_say(asked: list[str], first: float, five: float) -> None:
    """85 % and 72 % first, 98 % and 95 % among five when this was written; what is unsure is clarified."""
    index = LexicalIndex(shop())
    pairs = [line.split("|") for line in asked]
    found = [(expected, [one.name for one in index.candidates(text, 5)]) for expected, text in pairs]
    assert sum(names[:1] == [expected] for expected, names in found) >= first * len(asked)
    assert sum(expected in names for expected, names in found) >= five * len(asked)


def test_a_wrong_tool_is_hardly_ever_executed() -> None:
    index = LexicalIndex(shop())
    executed = []
    for line in ASKED + LATER:
        expected, text = line.split("|")
        candidates = index.candidates(text, 5)
        if decide(candidates) == "execute":
            executed.append(candidates[0].name == expected)
    assert len(executed) > 50
    assert executed.count(False) <= 1


def test_what_is_nobodys_business_stays_under_the_floor() -> None:
    index = LexicalIndex(shop())
    best = [max(index.scores(asked)) for asked in NOBODYS]
    assert sum(score >= 0.5 for score in best) <= 1
    assert max(best) < 0.75


def test_every_sample_finds_its_tool() -> None:
    index = LexicalIndex(shop())
    for at, one in enumerate(shop()):
        for sample in one.sample_calls:
            if not sample.counter_example:
                scores = index.scores(sample.utterance)
                assert scores[at] == max(scores), sample.utterance
                assert scores[at] >= 0.75


def test_a_counter_example_does_not_choose_its_tool() -> None:
    index = LexicalIndex(shop())
    for one in shop():
        for sample in one.sample_calls:
            if sample.use_instead:
                names = [found.name for found in index.candidates(sample.utterance, 5)]
                assert names[0] != one.name, sample.utterance
                assert sample.use_instead in names
