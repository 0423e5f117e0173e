# RUN: shapes,cost | print --facts cost
perfir 1
module @main
extent n in 1..
extent c in 1..
extent d in 1..
extent s in 1..
extent b in 1..

graph @main(%x0: f32[3, 4], %x1: i64[2] = [0, 1], %x2: f32[3, 4, 5], %x3: str[5], %x4: f32[6, 1], %x5: f64[3, 2], %x6: f64[10], %x7: f32[10], %x8: f32[], %x9: f32[3], %x11: i32[4, 5] = [[44, 47, 64, 67, 67], [9, 83, 21, 36, 87], [70, 88, 88, 12, 58], [65, 39, 87, 46, 88]], %x12: i32[3, 4] = [[44, 47, 64, 67], [67, 9, 83, 21], [36, 87, 70, 88]], %x13: i32[4, 4] = [[44, 47, 64, 67], [67, 9, 83, 21], [36, 87, 70, 88], [88, 12, 58, 65]], %x14: opt<seq<i32[4]>>, %x15: opt<f32[4]>, %x16: opt<i32[]>, %x17: str[3], %x18: str[2, 2], %x19: str[2, 0], %x20: f32[3, 6], %x21: i64[] = 2, %x22: i64[2] = [1, 2], %x23: str[2], %x24: str[1], %x25: str[0], %x26: str[4], %x27: str[1, 6], %x28: i32[2, 6] = [[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], %x29: i32[12] = [1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8], %x30: b1[] = true, %x31: f32[n, c, d], %x32: f32[s], %x33: f32[n, c], %x34: f32[b, c]) {
  %x10 = weight {constant=true} : f32[] = 0.20000000298023224
  %y0 = array_feature_extractor(%x0, %x1) : ?
  %y1 = binarizer(%x2) {threshold=1.0} : ?
  %y2 = label_encoder(%x3) {values="i64"} : ?
  %y3 = label_encoder(%x3) {values_tensor=known(3)[0, 1, 2], values_tensor_dtype="i16"} : ?
  %y4 = tree_ensemble(%x4) {n_targets=4, steps=2, least_steps=2, most_steps=2} : ?
  %y5 = tree_ensemble(%x5) {n_targets=2, steps=3, least_steps=2, most_steps=4} : ?
  %y6 = bernoulli(%x6) : ?
  %y7 = bernoulli(%x7) {dtype="f64"} : ?
  %y8 = bernoulli(%x7) {seed=0.0} : ?
  %y9 = dropout(%x2) {seed=0} : ?
  %y10, %y11 = dropout(%x2, %x8) {seed=0} : ?, ?
  %y12 = dropout(%x9) : ?
  %y13 = dropout(%x2, %x10) : ?
  %y14 = eye_like(%x11) {dtype="f32", k=1} : ?
  %y15 = eye_like(%x12) {dtype="f64"} : ?
  %y16 = eye_like(%x13) : ?
  %y17 = optional_get_element(%x14) : ?
  %y18 = optional_get_element(%x15) : ?
  %y19 = optional_has_element(_) : ?
  %y20 = optional_has_element() : ?
  %y21 = optional_has_element(%x16) : ?
  %y22 = regex_full_match(%x17) {pattern="www\\.[\\w.-]+\\.\\bcom\\b"} : ?
  %y23 = regex_full_match(%x18) {pattern="(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)"} : ?
  %y24 = regex_full_match(%x19) {pattern="(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)"} : ?
  %y25 = split_to_sequence(%x20, %x21) {axis=1} : ?
  %y26 = split_to_sequence(%x20, %x22) : ?
  %y27 = split_to_sequence(%x20) {axis=1, keepdims=0} : ?
  %y28 = string_concat(%x23, %x23) : ?
  %y29 = string_concat(%x17, %x24) : ?
  %y30, %y31 = string_split(%x23) {delimiter="."} : ?, ?
  %y32, %y33 = string_split(%x23) {delimiter="-"} : ?, ?
  %y34, %y35 = string_split(%x17) : ?, ?
  %y36, %y37 = string_split(%x25) : ?, ?
  %y38, %y39 = string_split(%x18) {maxsplit=2} : ?, ?
  %y40 = string_normalizer(%x26) {case_change_action="LOWER", is_case_sensitive=1, stopwords=["monday"]} : ?
  %y41 = string_normalizer(%x26) {is_case_sensitive=1, stopwords=["monday"]} : ?
  %y42 = string_normalizer(%x26) {case_change_action="UPPER", is_case_sensitive=1, stopwords=["monday"]} : ?
  %y43 = string_normalizer(%x23) {case_change_action="UPPER", is_case_sensitive=1, stopwords=["monday"]} : ?
  %y44 = string_normalizer(%x27) {case_change_action="UPPER", stopwords=["monday"]} : ?
  %y45 = string_normalizer(%x23) {is_case_sensitive=1} : ?
  %y46 = tfidf_vectorizer(%x28) {ngram_indexes=[0, 1, 2, 3, 4, 5, 6]} : ?
  %y47 = tfidf_vectorizer(%x29) {ngram_indexes=[0, 1, 2, 3, 4, 5, 6]} : ?
  %y48 = tfidf_vectorizer(%x29) {ngram_indexes=[0, 1, 2]} : ?
  %y49 = dropout(%x2, %x8, %x30) {seed=0} : ?
  %y50 = imputer(%x31) : ?
  %y51 = scaler(%x31) : ?
  %y52 = normalizer(%x31) : ?
  %y53 = one_hot_encoder(%x32) : ?
  %y54 = linear_regressor(%x33) : ?
  %y55 = linear_classifier(%x33) : ?
  %y56 = svm_regressor(%x33) : ?
  %y57 = svm_classifier(%x33) : ?
  %y58 = tree_ensemble_regressor(%x33) : ?
  %y59 = tree_ensemble_classifier(%x33) : ?
  %y60 = random_normal_like(%x31) : ?
  %y61 = random_uniform_like(%x31) : ?
  %y62 = multinomial(%x34) : ?
  %y63 = bitmask_dropout(%x31) : ?
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63
}
# ---- expect
perfir 1
module @main
extent n in 1..
extent c in 1..
extent d in 1..
extent s in 1..
extent b in 1..
extent u1 in 1..2
extent u2 in 0..
extent u3 in 0..
extent u4 in 0..
extent u5 in 0..
extent u6 in 0..3
extent u7 in 1..4
extent u8 in 1..4
extent u9 in 1..4
extent u10 in 1..2
extent u11 in 1..6

graph @main(%x0: f32[3, 4], %x1: i64[2] = [0, 1], %x2: f32[3, 4, 5], %x3: str[5], %x4: f32[6, 1], %x5: f64[3, 2], %x6: f64[10], %x7: f32[10], %x8: f32[], %x9: f32[3], %x11: i32[4, 5] = [[44, 47, 64, 67, 67], [9, 83, 21, 36, 87], [70, 88, 88, 12, 58], [65, 39, 87, 46, 88]], %x12: i32[3, 4] = [[44, 47, 64, 67], [67, 9, 83, 21], [36, 87, 70, 88]], %x13: i32[4, 4] = [[44, 47, 64, 67], [67, 9, 83, 21], [36, 87, 70, 88], [88, 12, 58, 65]], %x14: opt<seq<i32[4]>>, %x15: opt<f32[4]>, %x16: opt<i32[]>, %x17: str[3], %x18: str[2, 2], %x19: str[2, 0], %x20: f32[3, 6], %x21: i64[] = 2, %x22: i64[2] = [1, 2], %x23: str[2], %x24: str[1], %x25: str[0], %x26: str[4], %x27: str[1, 6], %x28: i32[2, 6] = [[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], %x29: i32[12] = [1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8], %x30: b1[] = true, %x31: f32[n, c, d], %x32: f32[s], %x33: f32[n, c], %x34: f32[b, c]) {
  %x10 = weight {constant=true} : f32[] = 0.20000000298023224
  %y0 = array_feature_extractor(%x0, %x1) : f32[3, 2]
    ! cost {read_bytes=40, write_bytes=24}
  %y1 = binarizer(%x2) {threshold=1.0} : f32[3, 4, 5]
    ! cost {alu=60, read_bytes=240, write_bytes=240}
  %y2 = label_encoder(%x3) {values="i64"} : i64[5]
    ! cost {integer=5, write_bytes=40}
  %y3 = label_encoder(%x3) {values_tensor=known(3)[0, 1, 2], values_tensor_dtype="i16"} : i16[5]
    ! cost {integer=5, write_bytes=10}
  %y4 = tree_ensemble(%x4) {n_targets=4, steps=2, least_steps=2, most_steps=2} : f32[6, 4]
    ! cost {alu=12, read_bytes=24, write_bytes=96}
  %y5 = tree_ensemble(%x5) {n_targets=2, steps=3, least_steps=2, most_steps=4} : f64[3, 2]
    ! cost {alu=9, read_bytes=48, write_bytes=48}
  %y6 = bernoulli(%x6) : f64[10]
    ! cost {integer=10, read_bytes=80, write_bytes=80}
  %y7 = bernoulli(%x7) {dtype="f64"} : f64[10]
    ! cost {integer=10, read_bytes=40, write_bytes=80}
  %y8 = bernoulli(%x7) {seed=0.0} : f32[10]
    ! cost {integer=10, read_bytes=40, write_bytes=40}
  %y9 = dropout(%x2) {seed=0} : f32[3, 4, 5]
    ! cost {}
  %y10, %y11 = dropout(%x2, %x8) {seed=0} : f32[3, 4, 5], b1[3, 4, 5]
    ! cost {write_bytes=60}
  %y12 = dropout(%x9) : f32[3]
    ! cost {}
  %y13 = dropout(%x2, %x10) : f32[3, 4, 5]
    ! cost {}
  %y14 = eye_like(%x11) {dtype="f32", k=1} : f32[4, 5] = [[0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    ! cost {write_bytes=80}
  %y15 = eye_like(%x12) {dtype="f64"} : f64[3, 4] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    ! cost {write_bytes=96}
  %y16 = eye_like(%x13) : i32[4, 4] = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    ! cost {write_bytes=64}
  %y17 = optional_get_element(%x14) : seq<i32[4]>
    ! cost {}
  %y18 = optional_get_element(%x15) : f32[4]
    ! cost {}
  %y19 = optional_has_element(_) : b1[] = false
    ! cost {}
  %y20 = optional_has_element() : b1[] = false
    ! cost {}
  %y21 = optional_has_element(%x16) : b1[]
    ! cost {}
  %y22 = regex_full_match(%x17) {pattern="www\\.[\\w.-]+\\.\\bcom\\b"} : b1[3]
    ! cost {write_bytes=3}
  %y23 = regex_full_match(%x18) {pattern="(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)"} : b1[2, 2]
    ! cost {write_bytes=4}
  %y24 = regex_full_match(%x19) {pattern="(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)"} : b1[2, 0]
    ! cost {}
  %y25 = split_to_sequence(%x20, %x21) {axis=1} : seq<f32[3, 2]; 3>
    ! cost {read_bytes=72, write_bytes=72}
  %y26 = split_to_sequence(%x20, %x22) : seq<f32[u1, 6]; 2; f32[1, 6], f32[2, 6]>
    ! cost {read_bytes=72, write_bytes=72}
  %y27 = split_to_sequence(%x20) {axis=1, keepdims=0} : seq<f32[3]; 6>
    ! cost {read_bytes=72, write_bytes=72}
  %y28 = string_concat(%x23, %x23) : str[2]
    ! cost {integer=2}
  %y29 = string_concat(%x17, %x24) : str[3]
    ! cost {integer=3}
  %y30, %y31 = string_split(%x23) {delimiter="."} : str[2, u2], i64[2]
    ! cost {write_bytes=16}
  %y32, %y33 = string_split(%x23) {delimiter="-"} : str[2, u3], i64[2]
    ! cost {write_bytes=16}
  %y34, %y35 = string_split(%x17) : str[3, u4], i64[3]
    ! cost {write_bytes=24}
  %y36, %y37 = string_split(%x25) : str[0, u5], i64[0]
    ! cost {}
  %y38, %y39 = string_split(%x18) {maxsplit=2} : str[2, 2, u6], i64[2, 2]
    ! cost {write_bytes=32}
  %y40 = string_normalizer(%x26) {case_change_action="LOWER", is_case_sensitive=1, stopwords=["monday"]} : str[u7]
    ! cost {}
  %y41 = string_normalizer(%x26) {is_case_sensitive=1, stopwords=["monday"]} : str[u8]
    ! cost {}
  %y42 = string_normalizer(%x26) {case_change_action="UPPER", is_case_sensitive=1, stopwords=["monday"]} : str[u9]
    ! cost {}
  %y43 = string_normalizer(%x23) {case_change_action="UPPER", is_case_sensitive=1, stopwords=["monday"]} : str[u10]
    ! cost {}
  %y44 = string_normalizer(%x27) {case_change_action="UPPER", stopwords=["monday"]} : str[1, u11]
    ! cost {}
  %y45 = string_normalizer(%x23) {is_case_sensitive=1} : str[2]
    ! cost {}
  %y46 = tfidf_vectorizer(%x28) {ngram_indexes=[0, 1, 2, 3, 4, 5, 6]} : f32[2, 7]
    ! cost {read_bytes=48, write_bytes=56}
  %y47 = tfidf_vectorizer(%x29) {ngram_indexes=[0, 1, 2, 3, 4, 5, 6]} : f32[7]
    ! cost {read_bytes=48, write_bytes=28}
  %y48 = tfidf_vectorizer(%x29) {ngram_indexes=[0, 1, 2]} : f32[3]
    ! cost {read_bytes=48, write_bytes=12}
  %y49 = dropout(%x2, %x8, %x30) {seed=0} : f32[3, 4, 5]
    ! cost {alu=120, integer=60, read_bytes=245, write_bytes=240}
  %y50 = imputer(%x31) : f32[n, c, d]
    ! cost {alu=c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y51 = scaler(%x31) : f32[n, c, d]
    ! cost {alu=2*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y52 = normalizer(%x31) : f32[n, c, d]
    ! cost {alu=3*c*d*n, read_bytes=4*c*d*n, write_bytes=4*c*d*n}
  %y53 = one_hot_encoder(%x32) : f32[s, 0]
    ! cost {read_bytes=4*s}
  %y54 = linear_regressor(%x33) : f32[n, 1]
    ! cost {read_bytes=4*c*n, write_bytes=4*n}
  %y55 = linear_classifier(%x33) : i64[n]
    ! cost {read_bytes=4*c*n, write_bytes=8*n}
  %y56 = svm_regressor(%x33) : f32[n, 1]
    ! cost {read_bytes=4*c*n, write_bytes=4*n}
  %y57 = svm_classifier(%x33) : i64[n]
    ! cost {read_bytes=4*c*n, write_bytes=8*n}
  %y58 = tree_ensemble_regressor(%x33) : f32[n, 1]
    ! cost {read_bytes=4*c*n, write_bytes=4*n}
  %y59 = tree_ensemble_classifier(%x33) : i64[n]
    ! cost {read_bytes=4*c*n, write_bytes=8*n}
  %y60 = random_normal_like(%x31) : f32[n, c, d]
    ! cost {integer=c*d*n, write_bytes=4*c*d*n}
  %y61 = random_uniform_like(%x31) : f32[n, c, d]
    ! cost {integer=c*d*n, write_bytes=4*c*d*n}
  %y62 = multinomial(%x34) : i32[b, 1]
    ! cost {sfu=b*c, integer=b, read_bytes=4*b*c, write_bytes=4*b}
  %y63 = bitmask_dropout(%x31) : f32[n, c, d]
    ! cost {}
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30, %y31, %y32, %y33, %y34, %y35, %y36, %y37, %y38, %y39, %y40, %y41, %y42, %y43, %y44, %y45, %y46, %y47, %y48, %y49, %y50, %y51, %y52, %y53, %y54, %y55, %y56, %y57, %y58, %y59, %y60, %y61, %y62, %y63
}
