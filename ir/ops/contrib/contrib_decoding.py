"""ONNX Runtime operators of token generation: search, states, selection of attended tokens.

Each row names the operands with their axes (``?`` is optional, ``[=t]`` binds the content of an
operand to ``t``), then the results: the operand whose element type they have or a type, and axes
over the letters of operands (``2?[=]`` is operand 2 after the attributes, updated in place).
``parts`` are bytes that are read of an operand at least: 0 where flags or contents decide.
"""

from __future__ import annotations

from ... import Kind
from .described import described

DecoderAttention = described(
    "decoder_attention",
    "com.microsoft::DecoderAttention",
    "query[s,b,h] key q_weight kv_weight bias key_padding_mask? key_cache? value_cache? static_kv"
    " use_past has_layer_state has_key_padding_mask",
    "0[s,b,h] 0[b,num_heads,t,h//num_heads] 0[b,num_heads,t,h//num_heads]",
    "Attention of a decoder whose caches flags choose",
    kind=Kind.ATTENTION,
    parts={1: "0", 3: "0", 6: "0", 7: "0"},
    num_heads=1,
)
ConvStateReplay = described(
    "conv_state_replay",
    "com.microsoft::ConvStateReplay",
    "source_backing capture_backing destination_backing metadata",
    "2?[=]",
    "States of convolutions brought to an accepted token",
    parts={0: "0", 1: "0", 2: "0"},
)
GatedDeltaNetStateReplay = described(
    "gated_delta_net_state_replay",
    "com.microsoft::GatedDeltaNetStateReplay",
    "source_backing capsule_backing destination_backing metadata",
    "2?[=]",
    "States of a recurrence brought to an accepted token",
    parts={0: "0", 1: "0", 2: "0"},
)
GreedySearch = described(
    "greedy_search",
    "com.microsoft::GreedySearch",
    "input_ids[b,s] max_length[=t] min_length? repetition_penalty? vocab_mask? prefix_vocab_mask?"
    " attention_mask?",
    "I32[b,t]",
    "Tokens of the largest score, by a decoder inside",
)
Sampling = described(
    "sampling",
    "com.microsoft::Sampling",
    "input_ids[b,s] max_length[=t] min_length? repetition_penalty? vocab_mask? prefix_vocab_mask?"
    " attention_mask? presence_mask? seed?",
    "I32[b,t] F32[b,v]",
    "Tokens drawn by their scores, by a decoder inside",
)
BeamSearch = described(
    "beam_search",
    "com.microsoft::BeamSearch",
    "input_ids[b,s] max_length[=t] min_length? num_beams[=m] num_return_sequences[=n]"
    " length_penalty? repetition_penalty? vocab_mask? prefix_vocab_mask? attention_mask?"
    " decoder_input_ids? logits_processor?",
    "I32[b,n,t] 5[b,n] 5[t-s,b,m,v]",
    "Sequences of a beam, by a decoder inside",
)
WhisperBeamSearch = described(
    "whisper_beam_search",
    "com.microsoft::WhisperBeamSearch",
    "input_ids max_length[=t] min_length? num_beams[=m] num_return_sequences[=n] length_penalty?"
    " repetition_penalty? vocab_mask? prefix_vocab_mask? attention_mask? decoder_input_ids?[b,s]"
    " logits_processor? cross_qk_layer_head?[x,y] extra_decoding_ids? temperature?",
    "I32[b,n,t] 5[b,n] 5[z,b,m,v] F32[b,n,x,q,f] 5[b]",
    "Transcripts of a beam, by an encoder and a decoder inside",
)
BifurcationDetector = described(
    "bifurcation_detector",
    "com.microsoft::BifurcationDetector",
    "src_tokens cur_tokens prev_suffix_match_idx pred_tokens?",
    "I64[t] I64[1]",
    "Predicted tokens joined to those there are, and where they continue in the source",
)
NGramHashMapping = described(
    "ngram_hash_mapping",
    "com.microsoft::NGramHashMapping",
    "input_ids[b,s] multipliers vocab_sizes past_ids? head_offsets? eos_token_id? segment_ids?",
    "0[b,s,(max_ngram_size-1)*n_head_per_ngram] 0[b,max_ngram_size-1]",
    "Hashes of the tokens before each token",
    kind=Kind.ELEMENTWISE,
    formulas={"integer": "b*s*(2*max_ngram_size - 1) + (1 + has_head_offsets)*e"},
    max_ngram_size=2,
    n_head_per_ngram=1,
)
VarlenNGramHashMapping = described(
    "varlen_ngram_hash_mapping",
    "com.microsoft::VarlenNGramHashMapping",
    "input_ids[t] multipliers vocab_sizes cumulative_sequence_length[c] past_ids? head_offsets?"
    " eos_token_id? segment_ids? past_segment_ids? capture_count?",
    "0[t,(max_ngram_size-1)*n_head_per_ngram] 0[c-1,max_ngram_size-1] I32[c-1,max_ngram_size-1]"
    " 0[c-1,state_update_capacity,max_ngram_size-1]",
    "Hashes of the tokens before each token of packed sequences",
    kind=Kind.ELEMENTWISE,
    formulas={"integer": "t*(2*max_ngram_size - 1) + (1 + has_head_offsets)*e"},
    max_ngram_size=2,
    n_head_per_ngram=1,
    state_update_capacity=0,
)
Mamba2Verify = described(
    "mamba2_verify",
    "com.microsoft::Mamba2Verify",
    "projection[r,w] conv_state[z,c,q] ssm_state[z,n,s,p] conv_weight conv_bias dt_bias A_negative"
    " D norm_weight state_row",
    "0[r,n*p] 1?[=] 2?[=] 0[r,c] F32[r,n*p]",
    "Convolution, state space, gate and norm of the tokens to verify",
    kind=Kind.ATTENTION,
    parts={1: "w//z", 2: "w//z"},
    formulas={
        "mac": "r*(4*c + 2*n*s*p)",
        "alu": "r*(n*p*(s + 9) + 3*c)",
        "sfu": "r*(3*n + 2*n*p + 2*c + n_groups)",
    },
    n_groups=1,
)
SparseAttentionIndexer = described(
    "sparse_attention_indexer",
    "com.microsoft::SparseAttentionIndexer",
    "query[b,s,q] key? query_norm_weight[d] key_norm_weight cos_cache sin_cache mask?"
    " past_key[b,p,d] gate? position_bias? head_weights? position_ids? past_sequence_length?"
    " past_proj_buffer?",
    "I32[b,s,token_budget+compress_ratio-1 if token_budget else index_topk]"
    " 0[b,p if has_past_sequence_length else p+s if token_budget else z,d] 0[2,b,z,2*d]",
    "Tokens or blocks that sparse attention reads",
    kind=Kind.SORT,
    parts={4: "0", 5: "0", 7: "0"},
    token_budget=0,
    compress_ratio=1,
    index_topk=0,
)
PackedSparseAttentionIndexer = described(
    "packed_sparse_attention_indexer",
    "com.microsoft::PackedSparseAttentionIndexer",
    "query[t,q] key? query_norm_weight[d] key_norm_weight cos_cache sin_cache"
    " cumulative_sequence_lengths past_sequence_lengths[b] gate? position_bias? head_weights?"
    " position_ids? past_key_state past_kv_buffer past_gate_buffer? past_state_lengths"
    " state_update_capture_count? state_update_active? indexshare_mode? merged_indices?"
    " merged_counts? merged_status?",
    "I32[t,max_output_entries or (token_budget+compress_ratio-1 if token_budget else index_topk)]"
    " I32[t] 12?[=] 13?[=] 14?[=] I32[b,2] 0[b,state_update_capacity,d] I32[t] I32[b]",
    "Tokens or blocks that sparse attention over packed sequences reads",
    kind=Kind.SORT,
    parts={4: "0", 5: "0", 12: "0", 13: "0", 14: "0"},
    token_budget=0,
    compress_ratio=1,
    index_topk=0,
    max_output_entries=0,
    state_update_capacity=0,
)
PackedSparseAttentionIndexerMerge = described(
    "packed_sparse_attention_indexer_merge",
    "com.microsoft::PackedSparseAttentionIndexerMerge",
    "base_indices base_counts base_row_indices[n] range_starts? range_ends? additional_indices?"
    " additional_counts?",
    "I32[n,max_output_entries] I32[n] I32[n]",
    "Two choices of what is attended, joined",
    kind=Kind.SORT,
    parts={0: "0", 1: "0"},
    max_output_entries=1,
)
SparsePagedAttention = described(
    "sparse_paged_attention",
    "com.microsoft::SparsePagedAttention",
    "query[t,q] key? value? key_cache[n,y,g,d] value_cache cumulative_sequence_length past_seqlens"
    " block_table slot_mapping? selected_indices selected_counts auxiliary_key? auxiliary_value?"
    " auxiliary_lengths? cos_cache? sin_cache? head_sink? q_norm_weight? k_norm_weight? k_scale?"
    " v_scale? attention_metadata?",
    "0[t,num_heads*d] 3?[=] 4?[=]",
    "Attention of packed tokens to chosen entries of pages",
    kind=Kind.ATTENTION,
    parts={3: "0", 4: "0", 7: "0", 11: "0", 12: "0", 14: "0", 15: "0"},
    num_heads=1,
)
SpeculativePrefixCommit = described(
    "speculative_prefix_commit",
    "com.microsoft::SpeculativePrefixCommit",
    "next_tokens[...,y] input_ids status ctl ctx_commit prefixes ptrs",
    "I32[rows] 3?[=] 4?[=]",
    "Accepted tokens written to the state of each request",
)
